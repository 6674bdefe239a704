import torch
import torch.nn as nn


class Reader(nn.Module):
    """The same attention is asked again with a state that has moved on (several hops)."""

    def __init__(self, d, hops):
        super().__init__()
        self.hops = hops
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def read(self, state, memory):
        q, k, v = self.q(state), self.k(memory), self.v(memory)
        w = torch.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
        return w @ v

    def forward(self, state, memory):
        for _ in range(self.hops):
            state = state + self.read(state, memory)
        return state


torch.manual_seed(0)
print(Reader(6, 3)(torch.randn(2, 1, 6), torch.randn(2, 5, 6)).shape)
