import torch
import torch.nn.functional as F

torch.manual_seed(1)
B, H, L, D = 3, 3, 5, 12
ids = torch.tensor([[3, 9, 4, 2, 8], [5, 1, 7, 0, 0], [6, 2, 0, 0, 0]])
x = torch.nn.Embedding(10, D)(ids)
q, k, v = (torch.nn.Linear(D, D)(x).view(B, L, H, D // H).transpose(1, 2) for _ in range(3))
mask = (ids != 0)[:, None, :].expand(B, L, L)
out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # expect: ATT053
print(out.transpose(1, 2).flatten(2)[1, 0])
