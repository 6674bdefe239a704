import math
import torch
import torch.nn as nn

# 逐词解码: 每一步只送入一个新词
torch.manual_seed(2)
d_model, max_len = 8, 10
pe = torch.zeros(max_len, d_model)
pos = torch.arange(max_len).unsqueeze(1)
div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)

x = torch.randn(2, 1, d_model)
step = 3
x = x + pe[step : step + 1]
memory = torch.randn(2, 6, d_model)
Wq, Wk, Wv = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
Q, K, V = Wq(x), Wk(memory), Wv(memory)
weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d_model), dim=-1)
print("权重:", weights.shape, "输出:", (weights @ V).shape)
