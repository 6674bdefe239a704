import torch

torch.manual_seed(3)
批, 长, 宽 = 2, 4, 8
x = torch.randn(批, 长, 宽)
q, k, v = torch.nn.Linear(宽, 3 * 宽)(x).chunk(3, dim=-1)
分数 = torch.einsum("bid,bjd->bij", q, k) / 宽**0.5
遮挡 = torch.tril(torch.ones(长, 长), diagonal=-1).bool()  # expect: ATT074
权重 = torch.softmax(分数.masked_fill(遮挡, -1e9), dim=-1)
print(权重[0])
print(torch.einsum("bij,bjd->bid", 权重, v).shape)
