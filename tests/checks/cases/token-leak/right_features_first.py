import torch

# columns are tokens: x is [B, D, L], projections stand in front
torch.manual_seed(8)
D, L = 6, 6
x = torch.randn(2, D, L)
Wq, Wk, Wv = torch.randn(D, D), torch.randn(D, D), torch.randn(D, D)
Q, K, V = Wq @ x, Wk @ x, Wv @ x
A = torch.softmax(Q.transpose(-2, -1) @ K / D**0.5, dim=-1)
out = V @ A.transpose(-2, -1)
print(out.shape)
