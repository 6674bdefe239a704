import torch
import torch.nn as nn
class ScaledDotProductAttention(nn.Module):
    def forward(self, q, k, v, mask=None):
        s = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask, -1e9)
        return torch.bmm(s.softmax(dim=2), v)
class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w_qs, self.w_ks, self.w_vs = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.attention = ScaledDotProductAttention()
    def forward(self, x):
        return self.attention(self.w_qs(x), self.w_ks(x), self.w_vs(x))
torch.manual_seed(0)
print(Layer(8)(torch.randn(2, 5, 8)).shape)
