# Random numbers from Python, NumPy and PyTorch, seeded and not, and in between tensor operations.
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    import numpy as np
except ImportError:
    np = None

print(torch.rand(1).item(), torch.initial_seed())
random.seed(1)
torch.manual_seed(1)
x = torch.randn(2, 3, 4)
print(random.random(), random.sample(range(9), 3), torch.randint(9, (3,)), torch.randperm(5))
weights = F.dropout(F.softmax(x @ x.mT, dim=-1), 0.3)
print(weights, random.gauss(0, 1), torch.multinomial(weights[0], 1).flatten())
generator = torch.Generator().manual_seed(5)
print(torch.rand(2, generator=generator), torch.rand(2), generator.initial_seed())
state = torch.get_rng_state()
a = torch.bernoulli(torch.full((8,), 0.5))
torch.set_rng_state(state)
print(torch.equal(a, torch.bernoulli(torch.full((8,), 0.5))))
torch.manual_seed(2)
with torch.random.fork_rng():
    torch.rand(9)
print(nn.init.xavier_uniform_(torch.empty(2, 2)), nn.Embedding(2, 3).weight, torch.distributions.Normal(0, 1).sample())
if np:
    np.random.seed(3)
    y = torch.from_numpy(np.random.randn(3, 4))
    print(np.random.rand(), (y.softmax(-1) @ y.T).numpy().sum(), np.random.default_rng(4).random())
    shared = y.numpy()
    y.add_(1)
    print(shared[0, 0] == y[0, 0].item(), np.asarray(x).shape, np.dot(x[0], x[0].T).dtype, torch.tensor(shared).dtype)
    print(type(np.float64(2) * y).__name__, type(y * np.float64(2)).__name__, np.exp(x[0, 0]))
