import torch

torch.manual_seed(19)
n, d = 8, 12
x = torch.randn(2, n, d)
q, k, v = torch.nn.Linear(d, 3 * d)(x).chunk(3, -1)
prefix = torch.tensor([4, 3])
place = torch.arange(n)
hide = place[None, :] > place[:, None] + 1  # expect: ATT072
hide = hide & (place[None, :] >= prefix[:, None])[:, None, :]
print(((q @ k.mT / d**0.5).masked_fill(hide, float("-inf")).softmax(-1) @ v).shape)
