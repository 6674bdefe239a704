# Tensor subclasses with __torch_function__ that print and count calls, one of which refuses a call.
import torch
import torch.nn.functional as F


class Loud(torch.Tensor):
    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Loud.calls += 1
        print("call", getattr(func, "__name__", func), [t.__name__ for t in types], len(args), sorted(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)


class Named:
    """Not a tensor, but PyTorch's functions take it."""

    def __init__(self, tensor, name):
        self.tensor, self.name = tensor, name

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.cat:
            return NotImplemented
        names = [a.name for a in args if isinstance(a, Named)]
        args = [a.tensor if isinstance(a, Named) else a for a in args]
        return Named(func(*args, **(kwargs or {})), f"{func.__name__}({', '.join(names)})")


torch.manual_seed(0)
x = torch.randn(1, 3, 4).as_subclass(Loud)
weights = F.softmax(x @ x.transpose(-2, -1) / 2, dim=-1)
output = torch.matmul(weights, x)
output += 1
print(type(output).__name__, output.shape, Loud.calls)
plain = output.as_subclass(torch.Tensor)
print(type(plain).__name__, plain.sum().item(), type(plain + output).__name__, Loud.calls)

q, k = Named(torch.ones(2, 3), "q"), Named(torch.ones(3, 2), "k")
result = torch.softmax(torch.matmul(q, k), dim=-1)
print(result.name, result.tensor)
try:
    torch.cat([q, k])
except TypeError as error:
    print(str(error)[:60])
print(type(torch.nn.Parameter(torch.ones(2)) + 1).__name__, torch.nn.Buffer(torch.ones(1)))
