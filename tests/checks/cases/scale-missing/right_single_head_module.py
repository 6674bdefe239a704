import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    """最简单的自注意力"""

    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(K.size(-1))
        attention_weights = F.softmax(scores, dim=-1)
        return torch.matmul(attention_weights, V), attention_weights


batch_size, seq_len, d_model = 2, 4, 8
torch.manual_seed(42)
x = torch.randn(batch_size, seq_len, d_model)
output, weights = SelfAttention(d_model)(x)
print("输出形状:", output.shape)
print(weights[0].detach())
