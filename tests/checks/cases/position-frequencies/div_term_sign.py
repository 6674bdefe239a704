import math
import torch
from torch import nn

torch.manual_seed(1)
seq_len, d_model = 6, 8

position = torch.arange(seq_len).unsqueeze(1)
div_term = torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))  # expect: ATT092
pe = torch.zeros(seq_len, d_model)
pe[:, 0::2] = torch.sin(position * div_term)
pe[:, 1::2] = torch.cos(position * div_term)

x = torch.randn(3, seq_len, d_model) + pe
Wq, Wk, Wv = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
def attention(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    return weights @ v


print(attention(Wq(x), Wk(x), Wv(x)).shape)
