# Warnings name the user's file and line, once for each line: PyTorch's own, from Python and from C++,
# and the user's with stacklevel.
import warnings

import lib_heads
import torch
import torch.nn as nn
import torch.nn.functional as F


def advise(message):
    warnings.warn(message, stacklevel=2)


class Attention(nn.Module):
    def forward(self, q, k, v):
        if q.shape[-1] < 16:
            advise("d_k is small")
        weights = F.softmax(q @ k.transpose(-2, -1))
        return F.tanh(weights @ v) + torch.sigmoid(F.sigmoid(v))


torch.manual_seed(0)
q = torch.randn(2, 4, 8)
for _ in range(3):
    Attention()(q, q, q)
    a = F.softmax(q)
    b = F.log_softmax(q[0])
print(nn.Softmax()(q[0, 0]).sum().item())
print(q.T.shape, q.T.shape)
print(nn.Linear(8, 8)(q).view(-1).sum().grad, (q * q).requires_grad_().sum().grad_fn.name())
y = (q.clone().requires_grad_() * 2).sum()
print(y.grad)
lib_heads.split(q, 8)
try:
    lib_heads.split(q, 3)
except RuntimeError as error:
    print(error)
print(F.mse_loss(torch.ones(3), torch.ones(3, 1)).item())
print("__warningregistry__" in globals(), len(__warningregistry__))
