import torch
from torch import nn

# the pieces are worked on one by one, to save memory, and joined as they were
torch.manual_seed(48)
h, d = 3, 12
x = torch.randn(2, 5, d)
q, k, v = (torch.cat(nn.Linear(d, d)(x).chunk(h, dim=2), dim=0) for _ in range(3))
w = (torch.bmm(q, k.transpose(1, 2)) / (d // h) ** 0.5).softmax(-1)
merged = torch.cat(torch.bmm(w, v).chunk(h, dim=0), dim=2)
out = torch.cat([nn.functional.gelu(piece) for piece in merged.chunk(5, dim=1)], dim=1)
print(out.shape)
