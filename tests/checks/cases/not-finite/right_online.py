import torch


def online_attention(q, k, v, block=2):
    m = torch.full(q.shape[:-1], float("-inf"))
    l = torch.zeros(q.shape[:-1])
    acc = torch.zeros_like(q)
    for start in range(0, k.size(-2), block):
        kb, vb = k[..., start : start + block, :], v[..., start : start + block, :]
        s = q @ kb.transpose(-2, -1) / q.size(-1) ** 0.5
        new = torch.maximum(m, s.amax(-1))
        p = torch.exp(s - new[..., None])
        shrink = torch.exp(m - new)
        l = l * shrink + p.sum(-1)
        acc = acc * shrink[..., None] + p @ vb
        m = new
    return acc / l[..., None]


torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
print(torch.allclose(online_attention(q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v), atol=1e-6))
