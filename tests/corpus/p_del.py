# What dies with the interpreter: __del__ of a global, a generator's `finally`, a context left open.
import torch


class Layer(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        return (x @ x.transpose(-2, -1)).softmax(-1) @ x

    def __del__(self):
        print("deleted", self.name)


def stream(layer, x):
    try:
        while True:
            x = layer(x)
            yield x
    finally:
        print("stream closed")


torch.manual_seed(0)
layer = Layer("global")
values = stream(layer, torch.randn(1, 3, 4))
print(next(values).shape, next(values).sum().item())
replaced = Layer("replaced")
replaced = None
print("end of script")
