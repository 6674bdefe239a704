import torch
import torch.nn.functional as F
from torch import nn

# heads stand in front of the batch: [h * b, n, d]
torch.manual_seed(1)
b, n, h, d = 2, 5, 3, 4
x = torch.randn(b, n, h * d)
w_qs, w_ks, w_vs, fc = (nn.Linear(h * d, h * d) for _ in range(4))
q = w_qs(x).view(b, n, h, d).permute(2, 0, 1, 3).contiguous().view(-1, n, d)
k = w_ks(x).view(b, n, h, d).permute(2, 0, 1, 3).contiguous().view(-1, n, d)
v = w_vs(x).view(b, n, h, d).permute(2, 0, 1, 3).contiguous().view(-1, n, d)
attn = F.softmax(torch.bmm(q, k.transpose(1, 2)) / d**0.5, dim=2)
output = torch.bmm(attn, v)
output = output.view(b, h, n, d).permute(0, 2, 1, 3).contiguous().view(b, n, -1)  # expect: ATT042
print(fc(output).shape)
