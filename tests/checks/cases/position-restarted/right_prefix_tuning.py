import torch
import torch.nn.functional as F
from torch import nn

# prefix tuning: learned keys and values before the sentence, positions of the words begin at 0
torch.manual_seed(2)
tok, pos = nn.Embedding(11, 12), nn.Embedding(16, 12)
pk, pv = nn.Parameter(torch.randn(1, 3, 2, 4)), nn.Parameter(torch.randn(1, 3, 2, 4))
x = tok(torch.randint(0, 11, (2, 5))) + pos(torch.arange(5))
q, k, v = (nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
k = torch.cat((pk.expand(2, -1, -1, -1), k), dim=2)
v = torch.cat((pv.expand(2, -1, -1, -1), v), dim=2)
mask = torch.cat((torch.ones(5, 2, dtype=torch.bool), torch.ones(5, 5).tril().bool()), dim=1)
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
