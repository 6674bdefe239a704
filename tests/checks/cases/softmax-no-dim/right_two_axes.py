"""Two axes and no dim: PyTorch warns and takes axis 1, which is the keys."""
import torch
import torch.nn.functional as F

torch.manual_seed(33)
x = torch.randn(5, 8)
Wq, Wk, Wv = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 4)
q, k, v = x @ Wq, x @ Wk, x @ Wv
attn = F.softmax(q @ k.T / 2)  # note: ATT002
print(attn @ v)
