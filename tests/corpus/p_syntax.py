# Python cannot read this file: it says so, with the line, and runs nothing.
import torch

print("never printed")
scores = torch.matmul(torch.ones(2, 3), torch.ones(3, 2)
weights = scores.softmax(-1)
