import torch
import torch.nn.functional as F

torch.manual_seed(0)
batch_size, seq_len, d_model = 2, 4, 8
x = torch.randn(batch_size, seq_len, d_model)
q, k, v = (torch.nn.Linear(d_model, d_model)(x) for _ in range(3))
mask = torch.tril(torch.ones(seq_len, seq_len))
scores = torch.matmul(q, k.transpose(-2, -1)) / d_model**0.5
scores = scores + mask.log()
print(F.softmax(scores, dim=-1)[0])
print((F.softmax(scores, dim=-1) @ v).shape)
