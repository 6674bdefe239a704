import torch
import torch.nn.functional as F

torch.manual_seed(153)
B, H, L, d = 2, 3, 5, 4
x = torch.randn(B, L, H * d)
lin = torch.nn.Linear(H * d, 3 * H * d)
q, k, v = lin(x).view(B, L, 3, H, d).permute(2, 0, 3, 1, 4)
out = F.scaled_dot_product_attention(q, k, v, scale=d ** 0.5)  # expect: ATT013
print("输出:", out.shape)
