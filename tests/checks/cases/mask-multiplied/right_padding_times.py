import torch
import torch.nn.functional as F

torch.manual_seed(1)
PAD = 0
ids = torch.tensor([[5, 3, 9, 1, 7], [2, 8, 4, PAD, PAD]])
x = torch.nn.Embedding(10, 12, padding_idx=PAD)(ids)
Wq, Wk, Wv = torch.randn(3, 12, 12) * 0.3
q, k, v = x @ Wq, x @ Wk, x @ Wv
keep = (ids != PAD).float()[:, None, :]
scores = torch.einsum("bqd,bkd->bqk", q, k) / 12**0.5
scores = torch.mul(scores, keep) + (1 - keep) * -1e9
attn = F.softmax(scores, dim=-1)
print(attn[1])
print(torch.einsum("bqk,bkd->bqd", attn, v).shape)
