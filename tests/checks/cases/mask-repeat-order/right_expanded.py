import torch


def heads_into_batch(t, h):
    b, n, d = t.shape
    return t.reshape(b, n, h, d // h).permute(0, 2, 1, 3).reshape(b * h, n, d // h)


def attend(x, w, mask, h):
    b, n, d = x.shape
    q, k, v = (heads_into_batch(x @ m, h) for m in w)
    logits = torch.einsum("zid,zjd->zij", q, k) / (d // h) ** 0.5
    mask = mask.unsqueeze(1).expand(b, h, n, n).reshape(b * h, n, n)
    logits = logits.masked_fill(mask == 0, -1e9)
    y = torch.einsum("zij,zjd->zid", logits.softmax(-1), v)
    return y.reshape(b, h, n, -1).permute(0, 2, 1, 3).reshape(b, n, d)


torch.manual_seed(3)
lengths = torch.tensor([5, 2, 4])
mask = (torch.arange(5)[None] < lengths[:, None]).int()[:, None, :].expand(3, 5, 5)
print(attend(torch.randn(3, 5, 12), torch.randn(3, 12, 12) * 0.3, mask, 2)[1])
