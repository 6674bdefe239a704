import torch

# 左填充：每个样本的有效部分在右边
torch.manual_seed(13)
attention_mask = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]])
q, k, v = torch.randn(3, 2, 3, 5, 4)
scores = q @ k.transpose(-2, -1) / 4**0.5
scores = scores.masked_fill(attention_mask[:, None, None, :] == 0, float("-inf"))
print((scores.softmax(-1) @ v).shape)
