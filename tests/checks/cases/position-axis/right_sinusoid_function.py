import torch
import torch.nn.functional as F

torch.manual_seed(42)
batch_size, seq_len, d_model = 2, 4, 8


def get_positional_encoding(n, d):
    pos = torch.arange(n, dtype=torch.float).unsqueeze(1)
    i = torch.arange(0, d, 2, dtype=torch.float)
    angle = pos / torch.pow(10000, i / d)
    pe = torch.zeros(n, d)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)
    return pe


x = torch.randn(batch_size, seq_len, d_model)
pe = get_positional_encoding(x.shape[1], d_model)
x = x + pe.unsqueeze(0)

W_q = torch.nn.Linear(d_model, d_model, bias=False)
W_k = torch.nn.Linear(d_model, d_model, bias=False)
W_v = torch.nn.Linear(d_model, d_model, bias=False)
Q, K, V = W_q(x), W_k(x), W_v(x)
scores = torch.matmul(Q, K.transpose(-2, -1)) / d_model ** 0.5
weights = F.softmax(scores, dim=-1)
output = torch.matmul(weights, V)
print("输出形状:", output.shape)
print(weights[0])
