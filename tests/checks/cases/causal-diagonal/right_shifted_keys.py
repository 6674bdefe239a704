import torch
import torch.nn.functional as F

# a start token stands before the keys, so that key i is the token before query i
torch.manual_seed(6)
B, H, L, d = 2, 3, 5, 4
x = torch.randn(B, L, H * d)
start = torch.nn.Parameter(torch.randn(1, 1, H * d))
memory = torch.cat([start.expand(B, 1, -1), x[:, :-1]], dim=1)
q = torch.nn.Linear(H * d, H * d)(x).view(B, L, H, d).transpose(1, 2)
k, v = (torch.nn.Linear(H * d, H * d)(memory).view(B, L, H, d).transpose(1, 2) for _ in range(2))
print(F.scaled_dot_product_attention(q, k, v, is_causal=True).shape)
