# A debugger inside the program, fed from stdin: steps over operations, prints, moves on.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(1, 3, 4)
breakpoint()
scores = x @ x.mT
weights = F.softmax(scores, dim=-1)
output = weights @ x
print(output)
