# Reads stdin: input() with a prompt, then the rest.
import sys

import torch
import torch.nn.functional as F

length = int(input("length? "))
name = input()
print("name", name)
rows = [[float(cell) for cell in line.split()] for line in sys.stdin.read().splitlines()]
x = torch.tensor(rows)[:length]
weights = F.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1)
print(weights @ x)
print("end", repr(sys.stdin.read()))
try:
    input()
except EOFError as error:
    print("EOF", error)
