import torch

# q is drawn four times as large, to see a sharp softmax
torch.manual_seed(46)
q, k, v = torch.randn(2, 5, 16) * 4**2, torch.randn(2, 5, 16), torch.randn(2, 5, 16)
scores = q @ k.mT * 16**-0.5
print((scores.softmax(-1) @ v).shape)
