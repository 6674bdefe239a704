import torch

# the values are the keys: nothing else was drawn for them
torch.manual_seed(43)
q, k = torch.randn(2, 2, 3, 5, 4)
w = (q @ k.mT / 2.0).softmax(-1)
print((w @ k).shape)
