import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
B, H, d, T = 2, 3, 4, 8
wq, wk, wv = (nn.Linear(H * d, H * d, bias=False) for _ in range(3))
k_cache, v_cache = torch.zeros(B, H, T, d), torch.zeros(B, H, T, d)
slots = torch.arange(T)


def heads(t):
    return t.view(B, -1, H, d).transpose(1, 2)


@torch.no_grad()
def step(x, input_pos):
    k_cache.index_copy_(2, input_pos, heads(wk(x)))
    v_cache.index_copy_(2, input_pos, heads(wv(x)))
    mask = slots[None, :] <= input_pos[:, None]
    return F.scaled_dot_product_attention(heads(wq(x)), k_cache, v_cache, attn_mask=mask)


step(torch.randn(B, 3, H * d), torch.arange(3))
for t in range(3, 6):
    y = step(torch.randn(B, 1, H * d), torch.tensor([t]))
print(y.shape)
