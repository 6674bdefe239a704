import torch
from torch import nn

torch.manual_seed(6)
input_ids = torch.tensor([[5, 2, 8, 4, 6], [3, 9, 7, 0, 0]])
attention_mask = (input_ids != 0).float()
h = nn.Embedding(10, 12)(input_ids)
proj = nn.ModuleList(nn.Linear(12, 12) for _ in range(3))
q, k, v = (p(h).view(2, 5, 3, 4).transpose(1, 2) for p in proj)
extended = (1.0 - attention_mask[:, None, None, :]) * -1e9
scores = q @ k.mT / 4**0.5 + extended
print((scores.softmax(-1) @ v)[1, 0])
