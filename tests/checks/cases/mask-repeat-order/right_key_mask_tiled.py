import torch
import torch.nn.functional as F

torch.manual_seed(4)
批, 长, 头, 每头 = 2, 4, 2, 4
编号 = torch.tensor([[1, 5, 3, 2], [4, 6, 0, 0]])
x = torch.nn.Embedding(8, 8)(编号)
线性 = torch.nn.Linear(8, 24)
q, k, v = 线性(x).view(批, 长, 3, 头, 每头).permute(2, 0, 3, 1, 4).reshape(3, 批 * 头, 长, 每头)
有效 = 编号 != 0
掩码 = 有效.repeat_interleave(头, 0)[:, None, :]
输出 = F.scaled_dot_product_attention(q, k, v, attn_mask=掩码)
print("输出", 输出.view(批, 头, 长, 每头)[1, :, 0])
