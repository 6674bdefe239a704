import torch

# q and k are drawn large, to see a sharp softmax
torch.manual_seed(46)
q, k, v = torch.randn(2, 5, 16) * 6, torch.randn(2, 5, 16) * 6, torch.randn(2, 5, 16)
scores = q @ k.mT * 16**-0.5
print(((scores * 16**-0.5).softmax(-1) @ v).shape)  # expect: ATT014
