import torch
import torch.nn as nn

# 先切成 h 块，再沿批的方向拼起来（Kyubyong 风格）
torch.manual_seed(0)
h, d = 3, 12
q_, k_, v_ = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
x = torch.randn(2, 5, d)
Q, K, V = (torch.cat(f(x).chunk(h, dim=2), dim=0) for f in (q_, k_, v_))
A = torch.softmax(torch.bmm(Q, K.transpose(1, 2)) / (d // h) ** 0.5, dim=-1)
out = torch.cat(torch.bmm(A, V).chunk(h, dim=0), dim=2)
print(out.shape)
