import torch

# softmax written out: the mask is multiplied onto the powers, and the sum runs over what is left
torch.manual_seed(4)
L = 5
q, k, v = torch.randn(3, 2, 3, L, 4)
scores = q @ k.transpose(-2, -1) / 2.0
powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * torch.ones(L, L).tril()
weights = powers / powers.sum(-1, keepdim=True)
print((weights @ v)[0, 0])
