import torch


def causal_attention(q, k, v):
    L = q.size(1)
    scores = torch.bmm(q, k.permute(0, 2, 1)) / q.size(2) ** 0.5
    visible = torch.ones(L, L).tril().bool()
    scores = scores.masked_fill(~visible, -1e9)
    return torch.bmm(scores.softmax(2), v)


torch.manual_seed(3)
q, k, v = torch.randn(2, 4, 8), torch.randn(2, 4, 8), torch.randn(2, 4, 8)
print(causal_attention(q, k, v)[0])
