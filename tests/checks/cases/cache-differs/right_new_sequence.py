import torch
import torch.nn.functional as F
from torch import nn

# the cache is emptied between two prompts
torch.manual_seed(5)
d = 8
wq, wk, wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
cache = {}


def step(x):
    k, v = wk(x), wv(x)
    if "k" in cache:
        k, v = torch.cat((cache["k"], k), 1), torch.cat((cache["v"], v), 1)
    cache["k"], cache["v"] = k, v
    return F.scaled_dot_product_attention(wq(x), k, v, is_causal=x.size(1) > 1)


with torch.no_grad():
    for prompt in (torch.randn(2, 4, d), torch.randn(2, 3, d)):
        cache.clear()
        step(prompt)
        for _ in range(2):
            y = step(torch.randn(2, 1, d))
print(y.shape)
