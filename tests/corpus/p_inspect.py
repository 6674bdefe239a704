# The program reads its own source: inspect, linecache, doctest, and code made by exec.
import doctest
import inspect
import linecache
import traceback

import torch
import torch.nn as nn
import torch.nn.functional as F


def attend(q):
    """
    >>> attend(torch.ones(1, 2)).tolist()
    [[1.0, 1.0]]
    """
    return F.softmax(q @ q.T, dim=-1) @ q


class Attention(nn.Module):
    def forward(self, x):
        return attend(x[0])


print(inspect.getsource(attend), inspect.getsource(Attention.forward), inspect.getsourcelines(Attention)[1])
print(linecache.getline(__file__, 2), inspect.getfile(Attention) == __file__, inspect.getmodule(attend).__name__)
print(doctest.testmod())

code = compile("scores = x @ x.mT\nweights = scores.softmax(-1)\nbad = scores @ x[:, :2]", "<cell>", "exec")
torch.manual_seed(0)
names = {"x": torch.randn(1, 3, 4)}
try:
    exec(code, names)
except RuntimeError:
    traceback.print_exc()
print(names["weights"], eval("x.sum()", names), sorted(linecache.cache)[:1] == sorted(linecache.cache)[:1])
exec("import torch\ndef f(x): return torch.softmax(x, 5)")
try:
    f(names["x"])  # noqa: F821
except IndexError:
    traceback.print_exc()
