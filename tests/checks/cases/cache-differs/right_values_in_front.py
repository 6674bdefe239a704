import math
import torch
from torch import nn

torch.manual_seed(5)
batch_size, d_model = 2, 8
Wq, Wk, Wv = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
inputs = torch.randn(batch_size, 5, d_model)
k_cache = v_cache = None
outputs = []
with torch.no_grad():
    for t in range(inputs.size(1)):
        x = inputs[:, t : t + 1]
        q, k, v = Wq(x), Wk(x), Wv(x)
        k_cache = k if k_cache is None else torch.cat([k_cache, k], dim=1)
        v_cache = v if v_cache is None else torch.cat([v_cache, v], dim=1)
        weights = torch.softmax(q @ k_cache.transpose(-2, -1) / math.sqrt(d_model), dim=-1)
        outputs.append(weights @ v_cache)
print(torch.cat(outputs, dim=1).shape)
