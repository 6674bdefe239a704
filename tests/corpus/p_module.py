# Started as `python -m p_module`: the module knows its spec, and its name is still __main__.
import sys

import torch
import torch.nn.functional as F


class Attention(torch.nn.Module):
    def forward(self, x):
        return F.softmax(x @ x.mT, dim=-1) @ x


if __name__ == "__main__":
    print(__name__, __file__, __spec__.name, repr(__package__), type(__loader__).__name__, sys.argv)
    print(sys.path[0] == sys.argv[0], sorted(globals()), sys.modules["__main__"].__dict__ is globals())
    torch.manual_seed(0)
    print(Attention()(torch.randn(1, 3, 4)), Attention.__module__)
    print(Attention()(torch.randn(3)))
    raise ValueError("the end")
