import torch


def masked_attention(q, k, v, lengths):
    """q, k, v: [B, H, L, d]; lengths: [B]"""
    d = q.size(-1)
    scores = torch.matmul(q, k.transpose(-1, -2)) / d**0.5
    valid = torch.arange(k.size(-2))[None, :] < lengths[:, None]
    scores = scores.masked_fill(~valid[:, None, None, :], torch.finfo(scores.dtype).min)
    return torch.matmul(torch.softmax(scores, dim=-1), v)


torch.manual_seed(7)
q, k, v = torch.randn(3, 2, 3, 5, 4).unbind(0)
print(masked_attention(q, k, v, torch.tensor([5, 3])).mean(-1))
