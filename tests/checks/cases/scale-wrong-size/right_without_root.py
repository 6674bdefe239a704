import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.d_k = heads, d_model // heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.fc = nn.Linear(d_model, d_model)

    def forward(self, x):
        n, l, d = x.shape
        q, k, v = self.qkv(x).view(n, l, 3, self.heads, self.d_k).permute(2, 0, 3, 1, 4)
        energy = torch.einsum("nhqd,nhkd->nhqk", [q, k])
        attention = torch.softmax(energy / self.d_k ** 0.5, dim=3)
        out = torch.einsum("nhql,nhld->nqhd", [attention, v]).reshape(n, l, d)
        return self.fc(out)


torch.manual_seed(136)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
