"""Prints what a script knows of itself."""

import sys

import torch

heads: int = 2
scale: "float" = 0.5

print(__name__, __file__, __doc__, __annotations__)
print(__package__, __spec__, type(__loader__).__name__, getattr(__builtins__, "__name__", "a dict"))
print(sys.path[0], sys.argv)
print(sorted(globals()))
print(sys.modules["__main__"].__dict__ is globals(), sys.modules[__name__].__file__ == __file__)
print(vars() is globals(), dir() == sorted(globals()))


class Attention(torch.nn.Module):
    def forward(self, x):
        return x @ x.transpose(-2, -1)


def inner():
    return sorted(locals()), Attention.__module__, Attention.__qualname__, inner.__module__


print(inner(), Attention, repr(Attention()))
print(Attention.forward.__code__.co_filename == __file__, Attention.forward.__code__.co_firstlineno)
print(Attention()(torch.ones(1, 2, 3)))
print(sys.flags.optimize, sys.flags.utf8_mode, sys.dont_write_bytecode, sys.getrecursionlimit())
print(sys.stdout.encoding, sys.stdout.line_buffering, sys.stdout.isatty(), sys.stdout is sys.__stdout__)
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile())
assert __debug__
