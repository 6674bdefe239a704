import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
B, L, H, d = 2, 5, 4, 3
x = torch.randn(B, L, H * d)
q, k, v = nn.Linear(H * d, 3 * H * d)(x).view(B, L, 3, H, d).permute(2, 0, 3, 1, 4).unbind(0)
slopes = 2.0 ** -torch.arange(2, 2 * H + 1, 2).float()
# as BLOOM: slope * position, the row constant falls out of the softmax
alibi = slopes.view(1, H, 1, 1) * torch.arange(L).view(1, 1, 1, L)
scores = q @ k.transpose(-2, -1) * d**-0.5 + alibi
scores = scores.masked_fill(torch.ones(L, L).triu(1).bool(), torch.finfo(scores.dtype).min)
print((F.softmax(scores, -1) @ v).shape)
