import torch
import torch.nn as nn
import math
class CrossAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
    def forward(self, x, memory):
        Q = self.W_q(memory)  # expect: ATT038
        K = self.W_k(x)
        V = self.W_v(x)
        s = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
        return torch.softmax(s, dim=-1) @ V
torch.manual_seed(0)
print(CrossAttention(8)(torch.randn(2, 3, 8), torch.randn(2, 6, 8)).shape)
