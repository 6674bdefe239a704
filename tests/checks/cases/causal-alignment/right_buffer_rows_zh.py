import torch
from torch import nn


class 带缓存的注意力(nn.Module):
    def __init__(self, 维度, 最大长度):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(维度, 维度) for _ in range(3))
        self.register_buffer("下三角", torch.ones(最大长度, 最大长度).tril())
        self.缓存 = None

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        if self.缓存 is not None:
            k, v = torch.cat([self.缓存[0], k], 1), torch.cat([self.缓存[1], v], 1)
        self.缓存 = (k, v)
        n, m = q.size(1), k.size(1)
        分数 = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
        分数 = 分数.masked_fill(self.下三角[m - n : m, :m] == 0, -1e9)
        return torch.bmm(分数.softmax(-1), v)


torch.manual_seed(3)
层 = 带缓存的注意力(8, 16)
x = torch.randn(2, 6, 8)
with torch.no_grad():
    print(层(x[:, :3]).shape)
    print(层(x[:, 3:5]).sum(-1), 层(x[:, 5:]).sum(-1))
