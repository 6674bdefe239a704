# No torch at all: a softmax attention in plain Python.
import math
import sys

q = [[1.0, 0.0], [0.5, 2.0]]
scores = [[sum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(2) for y in q] for x in q]
weights = [[math.exp(s) / sum(map(math.exp, row)) for s in row] for row in scores]
print(weights, "torch" in sys.modules, "numpy" in sys.modules)
