import torch
import torch.nn.functional as F

# the first tokens (the prompt) see each other; what follows sees only what came before
torch.manual_seed(4)
L = 6
q, k, v = torch.randn(3, 2, 3, L, 4)
prompt = torch.tensor([3, 2])
causal = torch.ones(L, L, dtype=torch.bool).tril()
in_prompt = torch.arange(L)[None, :] < prompt[:, None]
mask = causal | in_prompt[:, None, None, :]
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0, 0])
