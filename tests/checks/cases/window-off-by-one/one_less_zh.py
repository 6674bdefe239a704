import torch

torch.manual_seed(2)
批, 头, 长, 宽 = 2, 2, 7, 4
window = 3  # 每个词元看自己和前两个
q, k, v = torch.randn(3, 批, 头, 长, 宽)
行, 列 = torch.arange(长)[:, None], torch.arange(长)[None, :]
分数 = torch.einsum("bhid,bhjd->bhij", q, k) / 宽**0.5
遮挡 = (列 > 行) | (行 - 列 >= window - 1)  # expect: ATT076
权重 = 分数.masked_fill(遮挡, -1e9).softmax(-1)
print(权重[0, 0])
print((权重 @ v).shape)
