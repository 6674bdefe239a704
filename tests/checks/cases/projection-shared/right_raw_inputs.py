import torch

inputs = torch.tensor([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33]])
scores = inputs @ inputs.T
weights = torch.softmax(scores / inputs.shape[-1] ** 0.5, dim=-1)
context = weights @ inputs
print(context)
