import torch
import torch.nn.functional as F

torch.manual_seed(2)
ids = torch.tensor([[5, 2, 7, 3, 9], [8, 4, 6, 0, 0]])
keep = ids != 0
qkv = torch.nn.Linear(12, 36)(torch.nn.Embedding(10, 12)(ids))
q, k, v = (t.view(2, 5, 3, 4).transpose(1, 2) for t in qkv.split(12, dim=-1))
y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :].expand(2, 1, 5, 5))
y = y.transpose(1, 2).reshape(2, 5, 12)
print(y[keep].shape)
