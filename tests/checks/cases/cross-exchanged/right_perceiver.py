import torch
import torch.nn as nn
import torch.nn.functional as F


class Perceiver(nn.Module):
    """A few learned latents read a long input."""

    def __init__(self, n_latents, d, d_in, h):
        super().__init__()
        self.h = h
        self.latents = nn.Parameter(torch.randn(n_latents, d))
        self.to_q = nn.Linear(d, d, bias=False)
        self.to_kv = nn.Linear(d_in, 2 * d, bias=False)
        self.to_out = nn.Linear(d, d)

    def forward(self, data):
        b = data.shape[0]
        x = self.latents.expand(b, -1, -1)
        k, v = self.to_kv(data).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in (self.to_q(x), k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.to_out(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
print(Perceiver(4, 12, 7, 3)(torch.randn(2, 20, 7)).shape)
