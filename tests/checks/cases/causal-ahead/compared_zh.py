import torch
import torch.nn.functional as F

torch.manual_seed(2)
批, 头, 长, 宽 = 2, 3, 6, 4
q, k, v = torch.randn(3, 批, 头, 长, 宽)
位置 = torch.arange(长)
可见 = 位置[None, :] <= 位置[:, None] + 1  # expect: ATT072
输出 = F.scaled_dot_product_attention(q, k, v, attn_mask=可见)
print("输出", 输出[0, 0])
