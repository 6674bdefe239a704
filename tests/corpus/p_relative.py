# Started by a relative path: what stays relative, what Python makes absolute, and where modules come from.
import sys

import lib_heads
import torch
import torch.nn.functional as F

print(sys.argv[0].startswith(".."), __file__, sys.path[0], lib_heads.__file__)
torch.manual_seed(0)
x = torch.randn(1, 3, 4)
F.softmax(x @ x.mT)
x @ x
