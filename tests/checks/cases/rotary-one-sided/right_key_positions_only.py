import torch
import torch.nn.functional as F
from torch import nn

# a latent array without order reads a sequence with positions
torch.manual_seed(2)
latent, seq = nn.Parameter(torch.randn(3, 12)), torch.randn(2, 5, 12)
ang = torch.arange(5)[:, None] / 10000 ** (torch.arange(0, 12, 2) / 12)
seq = seq + torch.cat((ang.sin(), ang.cos()), -1)
q = nn.Linear(12, 12)(latent).expand(2, -1, -1)
k, v = nn.Linear(12, 12)(seq), nn.Linear(12, 12)(seq)
print(F.scaled_dot_product_attention(q, k, v).shape)
