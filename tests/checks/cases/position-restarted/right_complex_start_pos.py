import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, n_heads, max_batch=2, max_seq=16):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.cache_k = torch.zeros(max_batch, max_seq, n_heads, self.head_dim)
        self.cache_v = torch.zeros(max_batch, max_seq, n_heads, self.head_dim)

    def forward(self, x, start_pos, freqs_cis):
        bsz, n, _ = x.shape
        xq, xk, xv = (w(x).view(bsz, n, self.n_heads, self.head_dim) for w in (self.wq, self.wk, self.wv))
        xq, xk = rotary(xq, freqs_cis), rotary(xk, freqs_cis)
        self.cache_k[:bsz, start_pos : start_pos + n] = xk
        self.cache_v[:bsz, start_pos : start_pos + n] = xv
        keys, values = self.cache_k[:bsz, : start_pos + n], self.cache_v[:bsz, : start_pos + n]
        q, k, v = xq.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=n > 1)
        return self.wo(y.transpose(1, 2).reshape(bsz, n, -1))


def rotary(x, freqs_cis):
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * freqs_cis[:, None, :]).flatten(3)


torch.manual_seed(3)
dim, heads = 24, 3
angles = torch.outer(torch.arange(16), 10000 ** (-torch.arange(0, dim // heads, 2) / (dim // heads)))
freqs = torch.polar(torch.ones_like(angles), angles)
attn = Attention(dim, heads)
x = torch.randn(2, 5, dim)
with torch.inference_mode():
    attn(x[:, :3], 0, freqs[:3])
    for t in range(3, 5):
        y = attn(x[:, t : t + 1], t, freqs[t : t + 1])
print(y[0, 0, :4])
