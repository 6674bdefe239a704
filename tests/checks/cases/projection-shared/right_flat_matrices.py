# 从零实现自注意力：三个权重矩阵
import torch

torch.manual_seed(3)

序列长度, 维度 = 5, 6
x = torch.randn(序列长度, 维度)

W_q = torch.randn(维度, 维度)
W_k = torch.randn(维度, 维度)
W_v = torch.randn(维度, 维度)

Q = x @ W_q
K = x @ W_k
V = x @ W_v

scores = Q @ K.T / 维度 ** 0.5
weights = torch.softmax(scores, dim=-1)
print("权重", weights)
print("输出", weights @ V)
