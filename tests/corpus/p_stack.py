# The program looks up its own stack: below its first frame there is nothing.
import inspect
import sys
import traceback
import warnings

import torch
import torch.nn as nn


class Attention(nn.Module):
    def forward(self, x):
        print([(frame.function, frame.lineno) for frame in inspect.stack()])
        traceback.print_stack()
        return (x @ x.mT).softmax(-1) @ x


torch.manual_seed(0)
print(len(inspect.stack()), sys._getframe().f_back, sys._getframe().f_code.co_name)
warnings.warn("above the first frame", stacklevel=3)
print(Attention()(torch.randn(1, 3, 4)))
