"""Blocks of keys with a running maximum."""
import torch

torch.manual_seed(56)


def blockwise(q, k, v, block):
    m = torch.full(q.shape[:-1] + (1,), float("-inf"))
    denom = torch.zeros_like(m)
    acc = torch.zeros(q.shape[:-1] + (v.shape[-1],))
    for i in range(0, k.shape[-2], block):
        s = q @ k[..., i : i + block, :].mT * q.shape[-1] ** -0.5
        m_new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - m_new)
        alpha = torch.exp(m - m_new)
        denom = denom * alpha + p.sum(-1, keepdim=True)
        acc = acc * alpha + p @ v[..., i : i + block, :]
        m = m_new
    return acc / denom


x = torch.randn(2, 3, 8, 4)
wq, wk, wv = torch.randn(3, 4, 4) * 2
out = blockwise(x @ wq, x @ wk, x @ wv, 4)
print(out.shape)
