import torch


def attention(q, k, v, mask=None):
    """q, k, v: (batch, heads, length, d_k)"""
    scores = torch.matmul(q, k.transpose(2, 3))  # expect: ATT011
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


torch.manual_seed(103)
q = torch.randn(2, 3, 5, 4)
k = torch.randn(2, 3, 6, 4)
v = torch.randn(2, 3, 6, 4)
mask = torch.ones(2, 1, 1, 6)
mask[1, :, :, 4:] = 0
print(attention(q, k, v, mask).shape)
