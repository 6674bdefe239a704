import torch
import torch.nn.functional as F

torch.manual_seed(3)
H, d, sliding_window = 3, 4, 4
proj = torch.nn.Linear(H * d, 3 * H * d)


def heads(x):
    return proj(x).view(x.size(0), x.size(1), 3, H, d).permute(2, 0, 3, 1, 4)


def prefill(x):
    q, k, v = heads(x)
    i = torch.arange(x.size(1))
    mask = i[None, :] <= i[:, None]
    mask = mask & (i[:, None] - i[None, :] < sliding_window + 1)  # expect: ATT076
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), k, v


def decode(x, k, v):
    q, new_k, new_v = heads(x)
    k = torch.cat([k, new_k], dim=2)[:, :, -sliding_window:]
    v = torch.cat([v, new_v], dim=2)[:, :, -sliding_window:]
    return F.scaled_dot_product_attention(q, k, v), k, v


x = torch.randn(2, 9, H * d)
with torch.no_grad():
    y, k, v = prefill(x[:, :7])
    for t in (7, 8):
        y, k, v = decode(x[:, t : t + 1], k, v)
        print(y.sum().item())
