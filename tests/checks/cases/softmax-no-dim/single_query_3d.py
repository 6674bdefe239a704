import torch
import torch.nn as nn
from torch.nn import functional as F


class DotAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.W = nn.Linear(dim, dim)
        self.U = nn.Linear(dim, dim)

    def forward(self, hidden, outputs):
        query = self.W(hidden).unsqueeze(1)
        keys = self.U(outputs)
        energy = query.bmm(keys.transpose(1, 2)) / self.dim ** 0.5
        alpha = F.softmax(energy)  # expect: ATT002
        return alpha.bmm(outputs).squeeze(1)


torch.manual_seed(32)
attention = DotAttention(9)
context = attention(torch.randn(3, 9), torch.randn(3, 6, 9))
print("上下文向量:", context.shape)
