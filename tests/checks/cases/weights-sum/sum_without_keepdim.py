import torch

torch.manual_seed(51)


def softmax(t):
    e = torch.exp(t - t.max(dim=-1, keepdim=True)[0])
    return e / e.sum(dim=-1)  # expect: ATT004


n, d = 5, 8
x = torch.randn(n, d)
Wq, Wk, Wv = torch.randn(d, d), torch.randn(d, d), torch.randn(d, d)
Q, K, V = x @ Wq, x @ Wk, x @ Wv
A = softmax(Q @ K.T / d ** 0.5)
print(A @ V)
