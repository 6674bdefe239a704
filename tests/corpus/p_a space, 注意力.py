# The file's own name has spaces, a comma and Chinese; it stands in sys.argv and in the traceback.
import os
import sys

import torch
import torch.nn.functional as F

print(os.path.basename(sys.argv[0]), os.path.basename(__file__))
torch.manual_seed(0)
x = torch.randn(1, 3, 4)
print(F.softmax(x @ x.mT, dim=-1) @ x)
F.softmax(x)
x @ x
