import torch
import torch.nn as nn
class Axial(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
    def attend(self, x):
        *lead, n, d = x.shape
        q, k, v = self.qkv(x).view(*lead, n, 3, self.h, d // self.h).unbind(-3)
        s = torch.einsum("...ihd,...jhd->...hij", q, k) / (d // self.h) ** 0.5
        return self.o(torch.einsum("...hij,...jhd->...ihd", s.softmax(-1), v).flatten(-2))
    def forward(self, x):
        x = x + self.attend(x)
        return x + self.attend(x.transpose(1, 2)).transpose(1, 2)
torch.manual_seed(0)
print(Axial(12, 3)(torch.randn(2, 3, 5, 12)).shape)
