import torch
import torch.nn as nn


class LuongAttention(nn.Module):
    """Encoder states are both what is compared and what is read."""

    def __init__(self, hidden):
        super().__init__()
        self.score = nn.Linear(hidden, hidden, bias=False)

    def forward(self, decoder_state, encoder_states):
        q = self.score(decoder_state).unsqueeze(1)
        energy = torch.bmm(q, encoder_states.transpose(1, 2)) / encoder_states.size(-1) ** 0.5
        weights = torch.softmax(energy, dim=-1)
        return torch.bmm(weights, encoder_states).squeeze(1), weights.squeeze(1)


torch.manual_seed(0)
ctx, w = LuongAttention(6)(torch.randn(3, 6), torch.randn(3, 5, 6))
print(ctx.shape, w.shape)
