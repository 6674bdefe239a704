import torch
from torch import nn

torch.manual_seed(17)
b, c, height, width, p = 2, 5, 4, 6, 2
image = torch.randn(b, c, height, width)
patches = image.reshape(b, (height // p) * (width // p), c * p * p)  # expect: ATT082
q, k, v = nn.Linear(c * p * p, 24)(patches).chunk(3, -1)
print(((q @ k.mT / 8**0.5).softmax(-1) @ v).shape)
