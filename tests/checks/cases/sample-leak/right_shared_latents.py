import torch
from torch import nn

# learned queries are one for all samples; memory of one sample read by several captions is expanded
torch.manual_seed(3)
latents = nn.Parameter(torch.randn(4, 12))
image = torch.randn(1, 6, 12)
captions = torch.randn(3, 5, 12)
wq, wk, wv = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 12)
q = wq(captions + latents.mean(0))
k, v = wk(image).expand(3, -1, -1), wv(image).expand(3, -1, -1)
print((torch.softmax(q @ k.transpose(1, 2) / 12**0.5, -1) @ v).shape)
