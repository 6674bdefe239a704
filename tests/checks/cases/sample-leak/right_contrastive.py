import torch
import torch.nn.functional as F
from torch import nn

# attention pools a sentence, an in-batch contrastive loss compares samples with each other
torch.manual_seed(0)
x, y = torch.randn(4, 5, 12), torch.randn(4, 6, 12)
q, k, v = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 12)


def pool(t):
    w = torch.softmax(q(t) @ k(t).transpose(1, 2) / 12**0.5, dim=-1)
    return F.normalize((w @ v(t)).mean(1), dim=-1)


logits = pool(x) @ pool(y).T / 0.07
loss = F.cross_entropy(logits, torch.arange(4))
loss.backward()
print(loss.item())
