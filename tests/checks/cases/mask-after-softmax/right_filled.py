import math

import torch
import torch.nn.functional as F


def scaled_dot_product(q, k, v, mask=None):
    d_k = q.size(-1)
    attn_logits = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        attn_logits = attn_logits.masked_fill(mask == 0, -9e15)
    attention = F.softmax(attn_logits, dim=-1)
    values = torch.matmul(attention, v)
    return values, attention


torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 3, 5, 4)
values, attention = scaled_dot_product(q, k, v, torch.ones(5, 5).tril())
print(values.shape, attention[0, 0])
