import torch
import torch.nn.functional as F

torch.manual_seed(0)
B, L, D = 2, 5, 12
x = F.layer_norm(torch.randn(B, L, D), (D,))  # 词嵌入之后先归一化
Wq, Wk, Wv = (torch.randn(D, D) / D**0.5 for _ in range(3))
W1, W2 = torch.randn(D, 24) / 4, torch.randn(24, D) / 5

a = F.softmax((x @ Wq) @ (x @ Wk).transpose(-2, -1) / D**0.5, dim=-1) @ (x @ Wv)
x = F.layer_norm(x + a, (D,))
x = F.layer_norm(x + F.relu(x @ W1) @ W2, (D,))
print(x.shape)
