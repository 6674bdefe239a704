import torch
import torch.nn.functional as F

torch.manual_seed(6)
ids = torch.tensor([[0, 0, 5, 3, 8], [4, 9, 2, 6, 7]])
q, k, v = torch.nn.Linear(12, 36)(torch.nn.Embedding(10, 12)(ids)).view(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4)
mask = torch.ones(5, 5, dtype=torch.bool).tril() & (ids != 0)[:, None, None, :]
y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
print(y[:, 0].sum(-1))
