import torch
from torch import nn

# the heads lie along the batch, and stay there
torch.manual_seed(48)
h, d = 3, 12
x = torch.randn(2, 5, d)
q, k, v = (torch.cat(nn.Linear(d, d)(x).chunk(h, dim=2), dim=0) for _ in range(3))
w = (torch.bmm(q, k.transpose(1, 2)) / (d // h) ** 0.5).softmax(-1)
out = torch.cat(torch.bmm(w, v).chunk(2, dim=2), dim=2)  # expect: ATT042
print(out.shape)
