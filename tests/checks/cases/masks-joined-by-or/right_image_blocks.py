import torch
import torch.nn.functional as F

# text is causal; the patches of one image see each other
torch.manual_seed(6)
image = torch.tensor([[0, 1, 1, 1, 0, 0], [0, 0, 2, 2, 0, 3]])
L = image.size(1)
same_image = (image[:, :, None] == image[:, None, :]) & (image[:, :, None] != 0)
mask = torch.ones(L, L).tril().bool() | same_image
q, k, v = torch.randn(3, 2, 3, L, 4)
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1)).shape)
