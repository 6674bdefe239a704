import math

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    """单头自注意力"""

    def __init__(self, d_model, p=0.2):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.p = p

    def forward(self, x):
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(K.size(-1))
        weights = torch.softmax(scores, dim=-1)
        weights = F.dropout(weights, p=self.p)  # expect: ATT101
        return torch.matmul(weights, V)


torch.manual_seed(42)
x = torch.randn(2, 4, 8)
model = SelfAttention(8)
model.eval()
out1 = model(x)
out2 = model(x)
print("两次输出相同吗?", torch.allclose(out1, out2))
