import torch

torch.manual_seed(43)
q, k, v = torch.randn(3, 2, 3, 5, 4)
w = (q @ k.mT / 2.0).softmax(-1)
print((w @ k).shape)  # expect: ATT032
