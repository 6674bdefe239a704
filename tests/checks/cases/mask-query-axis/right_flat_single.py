import torch

torch.manual_seed(0)
batch_size, seq_len, d_model, pad = 2, 5, 12, 0
ids = torch.tensor([[4, 7, 2, 9, 3], [8, 5, 1, pad, pad]])
x = torch.nn.Embedding(10, d_model)(ids)
Wq, Wk, Wv = (torch.nn.Linear(d_model, d_model) for _ in range(3))
scores = torch.matmul(Wq(x), Wk(x).transpose(1, 2)) / d_model**0.5
is_pad = ids == pad
scores = scores.masked_fill(is_pad[:, None, :], -1e9)
attn = torch.softmax(scores, dim=-1)
print(attn[1])
print((attn @ Wv(x)).shape)
