"""A module that lies beside the scripts: they import it by name."""

import warnings

import torch.nn as nn
import torch.nn.functional as F


def split(x, heads):
    if x.shape[-1] % heads:
        warnings.warn(f"{x.shape[-1]} is not a multiple of {heads}", stacklevel=2)
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)


def heads_of_main():
    import __main__

    return __main__.HEADS


class MultiHead(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = (split(part, heads_of_main()) for part in self.qkv(x).chunk(3, dim=-1))
        weights = F.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


if __name__ == "__main__":
    raise SystemExit("only imported")
