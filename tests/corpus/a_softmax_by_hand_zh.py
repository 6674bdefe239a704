# 不用任何现成的 softmax，全部手写
import torch

torch.manual_seed(30)


def my_softmax(s):
    # 减去最大值，防止 exp 溢出
    e = torch.exp(s - s.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


def self_attention(x, Wq, Wk, Wv):
    q = torch.matmul(x, Wq)
    k = torch.matmul(x, Wk)
    v = torch.matmul(x, Wv)
    score = torch.matmul(q, k.permute(0, 2, 1)) / (k.shape[2] ** 0.5)
    weight = my_softmax(score)
    return torch.matmul(weight, v), weight


x = torch.randn(2, 5, 8)
out, w = self_attention(x, torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 6))
print(out.shape, w.shape)
print(w.sum(dim=-1))

# 一行写完的版本：没有减去最大值
s = x @ x.transpose(1, 2) * 0.1
a = s.exp() / s.exp().sum(-1, keepdim=True)
print((a @ x).shape)
