"""The embedding is multiplied by the root of the width, the scores are divided."""
import math
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.d = d
        self.emb = nn.Embedding(vocab, d)
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, ids):
        x = self.emb(ids) * math.sqrt(self.d)
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(q @ k.mT / math.sqrt(self.d), -1) @ v


torch.manual_seed(155)
print(Encoder(9, 8)(torch.randint(0, 9, (2, 5))).shape)
