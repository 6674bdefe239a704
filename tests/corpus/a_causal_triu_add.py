import torch
import torch.nn.functional as F
from torch import nn, Tensor

torch.manual_seed(16)


def causal_bias(n: int) -> Tensor:
    """0 on and under the diagonal, -inf above it"""
    return torch.triu(torch.full((n, n), float("-inf")), diagonal=1)


class Layer(nn.Module):
    def __init__(self, d: int, d_k: int):
        super().__init__()
        self.Wq, self.Wk, self.Wv = nn.Linear(d, d_k), nn.Linear(d, d_k), nn.Linear(d, d)
        self.d_k = d_k

    def forward(self, h: Tensor) -> Tensor:
        e = self.Wq(h).matmul(self.Wk(h).transpose(1, 2))
        e = e / self.d_k ** 0.5
        e = e + causal_bias(h.size(1))
        alpha = F.softmax(e, dim=-1)
        return alpha.matmul(self.Wv(h))


net = Layer(13, 6)
inp = torch.randn(2, 5, 13)
res = net(inp)
# the first position sees only itself
print(torch.allclose(res[:, 0], net.Wv(inp[:, 0]), atol=1e-6))
print(res.shape)
