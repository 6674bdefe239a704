# A traced graph carries the user's file and line beside every node.
import torch
import torch.nn.functional as F


def attend(q, k, v):
    scores = q @ k.transpose(-2, -1)
    weights = F.softmax(scores / 2, dim=-1)
    return torch.einsum("bij,bjd->bid", weights, v)


torch.manual_seed(0)
x = torch.randn(1, 3, 4)
traced = torch.jit.trace(attend, (x, x, x))
print(traced.graph)
