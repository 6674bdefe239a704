"""Attention over blocks of keys with a running maximum: the L x L matrix never exists."""
import torch

torch.manual_seed(44)
B, H, L, D, BLOCK = 2, 3, 12, 8, 4


def flash_like(q, k, v):
    scale = q.shape[-1] ** -0.5
    m = torch.full(q.shape[:-1] + (1,), float("-inf"))
    l = torch.zeros_like(m)
    acc = torch.zeros(q.shape[:-1] + (v.shape[-1],))
    for start in range(0, k.shape[2], BLOCK):
        kj = k[:, :, start : start + BLOCK]
        vj = v[:, :, start : start + BLOCK]
        s = torch.matmul(q, kj.transpose(-1, -2)) * scale
        m_new = torch.maximum(m, s.amax(dim=-1, keepdim=True))
        correction = torch.exp(m - m_new)
        p = torch.exp(s - m_new)
        l = l * correction + p.sum(dim=-1, keepdim=True)
        acc = acc * correction + torch.matmul(p, vj)
        m = m_new
    return acc / l


x = torch.randn(B, H, L, D)
q, k, v = x @ torch.randn(D, 5), x @ torch.randn(D, 5), x @ torch.randn(D, 6)
out = flash_like(q, k, v)
exact = ((q @ k.mT) * 5 ** -0.5).softmax(-1) @ v
print(out.shape, torch.allclose(out, exact, atol=1e-5))
