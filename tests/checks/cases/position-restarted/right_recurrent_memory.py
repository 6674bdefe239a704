import torch
import torch.nn.functional as F
from torch import nn

# segments with a memory of hidden states and positions by distance (relative bias), no absolute ones
torch.manual_seed(3)
d, n, heads = 12, 4, 3
rel = nn.Embedding(32, heads)
wq, wk, wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)


def split(t):
    return t.view(t.size(0), t.size(1), heads, -1).transpose(1, 2)


memory = torch.zeros(2, 0, d)
with torch.no_grad():
    for segment in torch.randn(3, 2, n, d):
        context = torch.cat((memory, segment), dim=1)
        q, k, v = split(wq(segment)), split(wk(context)), split(wv(context))
        i, j = torch.arange(n)[:, None] + memory.size(1), torch.arange(context.size(1))[None]
        bias = rel((i - j).clamp(0, 31)).permute(2, 0, 1)
        bias = bias.masked_fill(j > i, float("-inf"))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        memory = segment
print(y.shape)
