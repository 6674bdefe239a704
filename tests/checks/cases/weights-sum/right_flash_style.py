import torch

torch.manual_seed(62)


def flash(q, k, v, block=3):
    scale = q.size(-1) ** -0.5
    o = torch.zeros_like(q)
    m = torch.full((*q.shape[:-1], 1), -torch.inf)
    l = torch.zeros((*q.shape[:-1], 1))
    for kb, vb in zip(k.split(block, dim=-2), v.split(block, dim=-2)):
        s = torch.einsum("...qd,...kd->...qk", q, kb) * scale
        m_new = torch.maximum(m, s.max(dim=-1, keepdim=True).values)
        p = (s - m_new).exp()
        c = (m - m_new).exp()
        l = c * l + p.sum(-1, keepdim=True)
        o = c * o + p @ vb
        m = m_new
    return o / l


x = torch.randn(2, 7, 12)
lin = torch.nn.Linear(12, 36)
q, k, v = lin(x).view(2, 7, 3, 3, 4).permute(2, 0, 3, 1, 4)
print(flash(q, k, v).shape)
