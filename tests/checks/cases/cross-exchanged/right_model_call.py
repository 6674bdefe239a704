import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x, context):
        q = self.q(x)
        k, v = self.kv(context).chunk(2, dim=-1)
        w = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
        return self.o(w @ v)


class Decoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.cross = CrossAttention(d)
        self.ff = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))

    def forward(self, x, enc_out):
        x = x + self.cross(x, enc_out)
        return x + self.ff(x)


torch.manual_seed(0)
print(Decoder(8)(torch.randn(3, 4, 8), torch.randn(3, 4, 8)).sum())
