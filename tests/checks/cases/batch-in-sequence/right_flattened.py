import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, x):
        batch_size, seq_len, d_model = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_model)
        out = torch.matmul(F.softmax(scores, dim=-1), v)
        return out.view(batch_size, seq_len, d_model)


torch.manual_seed(230)
print(SelfAttention(8)(torch.randn(2, 4, 8)).shape)
