import torch


def local_attention(q, k, v, keep, window):
    n = q.size(1)
    i = torch.arange(n)
    near = (i[:, None] - i[None, :]).abs() <= window
    allowed = near & keep[:, None, :]
    s = torch.einsum("bid,bjd->bij", q, k) / q.size(-1) ** 0.5
    s = s + torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))  # expect: ATT060
    return torch.einsum("bij,bjd->bid", s.softmax(-1), v)


torch.manual_seed(3)
lengths = torch.tensor([6, 2])
keep = torch.arange(6) < lengths[:, None]
q, k, v = torch.randn(3, 2, 6, 8)
print(local_attention(q, k, v, keep, window=1).mean())
