import torch
from torch import nn

torch.manual_seed(17)
b, c, height, width, p = 2, 5, 4, 6, 2
image = torch.randn(b, c, height, width)
grid = image.view(b, c, height // p, p, width // p, p)
patches = grid.permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
q, k, v = nn.Linear(c * p * p, 24)(patches).chunk(3, -1)
print(((q @ k.mT / 8**0.5).softmax(-1) @ v).shape)

# a patch of time for each variable by itself, and every second step of all variables at once
series = torch.randn(b, 12, c)
alone = series.transpose(1, 2).reshape(b, c * 3, 4)
apart = series.view(b, 6, 2, c).transpose(1, 2).reshape(b, 2, 6 * c)
for rows in (alone, apart):
    q, k, v = nn.Linear(rows.size(-1), 24)(rows).chunk(3, -1)
    print(((q @ k.mT / 8**0.5).softmax(-1) @ v).shape)
