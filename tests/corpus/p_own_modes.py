# The user's own modes: TorchFunctionMode, TorchDispatchMode, a device context, a flop counter.
from collections import Counter

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen[str(func)] += 1
        return func(*args, **(kwargs or {}))


class Halve(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result / 2 if func is F.softmax else result


def attend(x):
    weights = F.softmax(torch.einsum("bid,bjd->bij", x, x) / x.size(-1) ** 0.5, dim=-1)
    return weights @ x


torch.manual_seed(0)
x = torch.randn(1, 3, 4)
with Functions() as functions, Dispatches() as dispatches:
    attend(x)
print(functions.seen)
print(dict(dispatches.seen))
with Halve():
    print(attend(x))
    with Functions() as functions:
        attend(x)
print(functions.seen)
with FlopCounterMode(display=False) as flops:
    attend(x)
    torch.nn.Linear(4, 4)(x)
print(flops.get_total_flops(), {k: len(v) for k, v in flops.get_flop_counts().items()})
with torch.device("meta"):
    print(attend(torch.randn(2, 5, 6)).device, attend(x).device)
torch.set_default_device("meta")
print(torch.ones(2).device, torch.get_default_device())
torch.set_default_device(None)
print(torch.ones(2).device)
with torch._C.DisableTorchFunction():
    print(attend(x).sum().item())
