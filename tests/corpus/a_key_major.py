import torch
import torch.nn as nn

torch.manual_seed(31)
B, L, D, d_k, d_v = 3, 6, 11, 4, 5
x = torch.randn(B, L, D)
f_q, f_k, f_v = nn.Linear(D, d_k), nn.Linear(D, d_k), nn.Linear(D, d_v)


@torch.no_grad()
def keys_in_rows(x):
    """scores are kept as key x query throughout, so softmax goes down the columns"""
    q, k, v = f_q(x), f_k(x), f_v(x)
    scores = torch.einsum("bkd,bqd->bkq", k, q) / d_k ** 0.5
    weights = scores.softmax(dim=1)
    return torch.einsum("bkq,bkd->bqd", weights, v)


@torch.no_grad()
def turned_later(x):
    """scores are turned after the product, and turned back after the softmax"""
    q, k, v = f_q(x), f_k(x), f_v(x)
    scores = torch.bmm(q, k.transpose(1, 2)) / d_k ** 0.5
    columns = torch.softmax(scores.transpose(1, 2), dim=1)
    return torch.bmm(columns.transpose(1, 2), v)


first, second = keys_in_rows(x), turned_later(x)
print(first.shape, torch.allclose(first, second, atol=1e-6))
