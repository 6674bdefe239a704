import torch
import torch.nn.functional as F

torch.manual_seed(5)
H, d = 3, 4
proj = torch.nn.Linear(H * d, 3 * H * d)


def step(x, past):
    q, k, v = proj(x).view(x.size(0), x.size(1), 3, H, d).permute(2, 0, 3, 1, 4)
    if past:
        k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
    causal = not past
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal), (k, v)


x = torch.randn(2, 6, H * d)
y, past = step(x[:, :4], None)
for t in (4, 5):
    y, past = step(x[:, t : t + 1], past)
    print(y.sum().item())
