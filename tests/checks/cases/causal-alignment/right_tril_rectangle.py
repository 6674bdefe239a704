import torch


def attend(q, k, v):
    Lq, Lk = q.size(-2), k.size(-2)
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    mask = torch.tril(torch.ones(Lq, Lk), diagonal=Lk - Lq).bool()
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


torch.manual_seed(1)
D, H = 12, 3
proj = torch.nn.Linear(D, 3 * D)


def split(t):
    return t.view(*t.shape[:2], H, D // H).transpose(1, 2)


x = torch.randn(2, 7, D)
q1, k1, v1 = map(split, proj(x[:, :4]).chunk(3, -1))
print(attend(q1, k1, v1).shape)
q2, k2, v2 = map(split, proj(x[:, 4:]).chunk(3, -1))
print(attend(q2, torch.cat((k1, k2), 2), torch.cat((v1, v2), 2)).sum(-1))
