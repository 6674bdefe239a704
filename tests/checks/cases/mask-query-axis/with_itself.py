import torch
import torch.nn.functional as F

# two documents in one row, kept apart
torch.manual_seed(37)
doc = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]])
q, k, v = torch.nn.Linear(12, 36)(torch.randn(1, 8, 12)).chunk(3, -1)
same = doc[:, None, :] == doc[:, None, :]  # expect: ATT052
mask = same & torch.ones(8, 8).tril().bool()
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
