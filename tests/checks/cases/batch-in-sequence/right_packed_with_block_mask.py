"""Sentences of several lengths packed in one row; a token sees its own sentence only."""
import torch
import torch.nn as nn

torch.manual_seed(241)
lengths = torch.tensor([3, 4, 2])
document = torch.repeat_interleave(torch.arange(3), lengths)
x = torch.randn(int(lengths.sum()), 8)
q, k, v = nn.Linear(8, 24)(x).chunk(3, -1)
scores = q @ k.T / 8 ** 0.5
scores = scores.masked_fill(document[:, None] != document[None, :], float("-inf"))
print((scores.softmax(-1) @ v).shape)
