# Deep recursion: one that fits, one that ends in RecursionError, and operations far down.
import sys

import torch
import torch.nn.functional as F


def down(x, depth):
    if depth == 0:
        return F.softmax(x @ x.mT, dim=-1) @ x
    return down(x + 1, depth - 1) if depth % 2 else down(x, depth - 1)


def endless(x):
    return endless(x)


def count(depth):
    return 0 if depth == 0 else 1 + count(depth - 1)


torch.manual_seed(0)
x = torch.randn(1, 3, 4)
print(down(x, 900), count(900), sys.getrecursionlimit())
try:
    endless(x)
except RecursionError as error:
    print(error)
model = torch.nn.Identity()
for _ in range(150):
    model = torch.nn.Sequential(model)
print(torch.equal(model(x), x))
sys.setrecursionlimit(3000)
print(count(2900))
