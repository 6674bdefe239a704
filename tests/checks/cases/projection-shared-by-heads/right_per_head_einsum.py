import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, D, H, d):
        super().__init__()
        self.Wq = nn.Parameter(torch.randn(D, H, d) * D ** -0.5)
        self.Wk = nn.Parameter(torch.randn(D, H, d) * D ** -0.5)
        self.Wv = nn.Parameter(torch.randn(D, H, d) * D ** -0.5)
        self.Wo = nn.Parameter(torch.randn(H, d, D) * (H * d) ** -0.5)
        self.d = d

    def forward(self, x):
        q = torch.einsum("bld,dhe->blhe", x, self.Wq)
        k = torch.einsum("bld,dhe->blhe", x, self.Wk)
        v = torch.einsum("bld,dhe->blhe", x, self.Wv)
        a = torch.einsum("bihe,bjhe->bhij", q, k) / self.d ** 0.5
        o = torch.einsum("bhij,bjhe->bihe", a.softmax(-1), v)
        return torch.einsum("bihe,hed->bid", o, self.Wo)


torch.manual_seed(0)
print(Attention(12, 3, 5)(torch.randn(2, 6, 12)).shape)
