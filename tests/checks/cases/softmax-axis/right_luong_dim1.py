import torch
import torch.nn as nn
import torch.nn.functional as F


class LuongAttention(nn.Module):
    def __init__(self, method, hidden):
        super().__init__()
        self.method = method
        if method == "general":
            self.attn = nn.Linear(hidden, hidden)

    def forward(self, hidden, encoder_outputs):
        # hidden: (1, B, H)  encoder_outputs: (L, B, H)
        if self.method == "general":
            energies = torch.sum(hidden * self.attn(encoder_outputs), dim=2)
        else:
            energies = torch.sum(hidden * encoder_outputs, dim=2)
        return F.softmax(energies.t(), dim=1).unsqueeze(1)


torch.manual_seed(24)
encoder = nn.GRU(7, 10)
outputs, state = encoder(torch.randn(6, 3, 7))
for method in ("dot", "general"):
    weights = LuongAttention(method, 10)(state, outputs)
    context = weights.bmm(outputs.transpose(0, 1))
    print(method, context.shape, weights.sum(-1).flatten().tolist())
