# 堆叠三层编码器
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        a = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) / x.shape[-1] ** 0.5, dim=-1)
        return self.norm(x + a @ self.v(x))


torch.manual_seed(0)
层数 = 3
model = nn.Sequential(*[Layer(8) for _ in range(层数)])
print("输出", model(torch.randn(2, 4, 8)).shape)
