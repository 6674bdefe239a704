import torch
import torch.nn.functional as F

torch.manual_seed(14)
doc = torch.tensor([[0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1]])
L = doc.size(1)
same = doc[:, :, None] == doc[:, None, :]
causal = torch.ones(L, L, dtype=torch.bool).tril()
mask = (same & causal).unsqueeze(1)
q, k, v = (torch.randn(2, 3, L, 4) for _ in range(3))
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0, 0])
