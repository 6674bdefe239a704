"""Fields of a record attend to each other: they come as an axis of the input, not out of a split."""
import torch
import torch.nn as nn

torch.manual_seed(264)
B, fields, D = 3, 4, 6
x = torch.stack([nn.Embedding(9, D)(torch.randint(0, 9, (B,))) for _ in range(fields)], dim=1)
q, k, v = nn.Linear(D, 3 * D)(x).chunk(3, -1)
w = torch.softmax(q @ k.mT / D ** 0.5, -1)
print((w @ v).shape)
