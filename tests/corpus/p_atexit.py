# atexit handlers run last-in first-out, compute, read __main__'s globals, and one of them fails.
import atexit
import sys
import weakref

import torch
import torch.nn.functional as F


class Attention(torch.nn.Module):
    def forward(self, x):
        return F.softmax(x @ x.transpose(-2, -1), dim=-1) @ x


@atexit.register
def last():
    print("last", model(x).sum().item(), __name__, sys.modules["__main__"] is main)


class Fails:
    def __call__(self):
        x @ x

    def __repr__(self):
        return "<fails>"


atexit.register(Fails())


@atexit.register
def first():
    print("first", torch.rand(2))


torch.manual_seed(0)
main = sys.modules["__main__"]
x = torch.randn(2, 4, 8)
model = Attention()
weakref.finalize(model, print, "finalized")
print("end of script")
