import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W_q, self.W_k, self.W_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, memory):
        q = self.W_q(x)
        k = self.W_k(x)  # expect: ATT039
        v = self.W_v(x)
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        return scores.softmax(dim=-1) @ v


torch.manual_seed(0)
cross = CrossAttention(8)
decoder_x, encoder_out = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
print(cross(decoder_x, encoder_out).shape)
