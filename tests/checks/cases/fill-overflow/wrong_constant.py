import torch

torch.manual_seed(3)
序列 = torch.tensor([[3, 5, 2, 0], [0, 0, 0, 0]])
q, k, v = torch.randn(3, 2, 4, 8)
分数 = q @ k.mT / 8**0.5
填充 = (序列 == 0)[:, None, :]
负数 = torch.tensor(-1e39, dtype=torch.float32)  # expect: ATT061
分数 = torch.where(填充, 负数, 分数)
print("权重", 分数.softmax(-1)[1])
print((分数.softmax(-1) @ v).shape)
