import torch
import torch.nn.functional as F

torch.manual_seed(0)
batch_size, seq_len, d_model = 2, 4, 8
x = torch.randn(batch_size, seq_len, d_model)
Wq, Wk, Wv = (torch.nn.Linear(d_model, d_model) for _ in range(3))
scores = Wq(x) @ Wk(x).transpose(-2, -1) / d_model**0.5
mask = torch.triu(torch.ones(seq_len, seq_len))  # expect: ATT073
scores = scores.masked_fill(mask == 1, -1e9)
attn = F.softmax(scores, dim=-1)
print(attn[0])
print((attn @ Wv(x)).shape)
