# Activations die at the moment when the program lets go of them, and nobody else holds one.
import gc
import sys
import weakref

import torch
import torch.nn as nn
import torch.nn.functional as F

gc.disable()
alive = []


def watch(name, tensor):
    weakref.finalize(tensor, print, "freed", name).atexit = False
    alive.append(weakref.ref(tensor))
    return tensor


class Attention(nn.Module):
    def forward(self, x):
        scores = watch("scores", x @ x.mT)
        weights = watch("weights", F.softmax(scores, dim=-1))
        del scores
        print("scores deleted", [ref() is not None for ref in alive])
        return watch("output", weights @ x)


torch.manual_seed(0)
for grad in (False, True):
    x = watch("x", torch.randn(1, 3, 4, requires_grad=grad))
    output = Attention()(x)
    print("returned", [ref() is not None for ref in alive], sys.getrefcount(x), sys.getrefcount(output))
    output = output + 1
    print("added")
    del output, x
    print("deleted", [ref() is not None for ref in alive])
    alive.clear()

q = watch("q", torch.randn(2, 3))
try:
    q @ watch("temporary", q + 1)
except RuntimeError:
    pass
print("after error", [ref() is not None for ref in alive])
for step in range(2):
    h = watch(f"h{step}", torch.ones(2) * step)
    parts = [watch(f"part{i}", p) for i, p in enumerate(h.split(1))]
h = parts = p = None
model = nn.Linear(2, 2)
model.me = model
died = weakref.ref(model)
model(torch.ones(1, 2))
del model
print("cycle", died() is not None, gc.collect() > 0, died() is not None, len(gc.garbage))
big = torch.ones(1 << 20)
corner = watch("big", big)[:4]
del big
print("end", corner)
