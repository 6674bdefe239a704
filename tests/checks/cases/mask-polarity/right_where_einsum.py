import torch


def attend(x, w_q, w_k, w_v, heads):
    b, n, d = x.shape
    q, k, v = (torch.einsum("bnd,de->bne", x, w).reshape(b, n, heads, -1) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * (d // heads) ** -0.5
    allowed = torch.arange(n)[None, :] <= torch.arange(n)[:, None]
    scores = torch.where(allowed, scores, torch.tensor(-1e9))
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).reshape(b, n, d)


torch.manual_seed(5)
x = torch.randn(2, 5, 12)
w = [torch.randn(12, 12) * 0.3 for _ in range(3)]
print(attend(x, *w, heads=3)[0, 0])
