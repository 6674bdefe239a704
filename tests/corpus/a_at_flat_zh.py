# 自注意力的手写版本：不用类，从头到尾一遍走完
import torch

torch.manual_seed(1)

批大小, 词数, 维度, d_k = 3, 6, 10, 4

# 输入：3 句话，每句 6 个词
X = torch.rand(批大小, 词数, 维度)

# 三个权重矩阵
Wq = torch.randn(维度, d_k)
Wk = torch.randn(维度, d_k)
Wv = torch.randn(维度, 9)

Q, K, V = X @ Wq, X @ Wk, X @ Wv
print('Q', Q.shape, 'K', K.shape, 'V', V.shape)

# 注意力权重 = softmax(QK^T / sqrt(d_k))
A = torch.softmax(Q @ K.mT / d_k ** 0.5, dim=2)
print('权重', A.shape)

Z = A @ V
print('输出', Z.shape, round(Z.sum().item(), 3))
