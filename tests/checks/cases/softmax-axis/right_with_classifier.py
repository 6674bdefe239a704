"""Softmax over classes and over experts stands beside the attention."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, vocab, dim, classes, experts):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.router = nn.Linear(dim, experts)
        self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(experts)])
        self.out = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.emb(ids)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        w = F.softmax(q @ k.transpose(1, 2) / math.sqrt(q.size(-1)), dim=2)
        x = x + w @ v
        gate = F.softmax(self.router(x), dim=-1)
        x = sum(gate[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts))
        return F.softmax(self.out(x.mean(1)), dim=1)


torch.manual_seed(25)
model = Classifier(11, 8, 4, 3)
print(model(torch.randint(0, 11, (2, 5))))
