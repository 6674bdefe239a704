import torch
import torch.nn as nn
import torch.nn.functional as F


class BahdanauAttention(nn.Module):
    def __init__(self, hidden, enc):
        super().__init__()
        self.Wa = nn.Linear(hidden, hidden)
        self.Ua = nn.Linear(enc, hidden)
        self.Va = nn.Linear(hidden, 1)

    def forward(self, state, keys):
        # state: (B, 1, hidden)   keys: (B, L, enc)
        scores = self.Va(torch.tanh(self.Wa(state) + self.Ua(keys)))
        weights = F.softmax(scores, dim=1)
        context = torch.bmm(weights.transpose(1, 2), keys)
        return context, weights


torch.manual_seed(10)
attn = BahdanauAttention(8, 7)
context, weights = attn(torch.randn(3, 1, 8), torch.randn(3, 5, 7))
print(context.shape, weights.shape)
