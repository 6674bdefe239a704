# 最简单的自注意力：没有任何参数，q = k = v = x
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 4, 8)
q = k = v = x
w = F.softmax(q @ k.transpose(1, 2) / 8 ** 0.5, dim=-1)
print(w @ v)
