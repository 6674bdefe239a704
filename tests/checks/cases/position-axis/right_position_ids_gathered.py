import torch
from torch import nn

# left padded batch: positions count from the first real token
torch.manual_seed(11)
ids = torch.tensor([[0, 0, 7, 3, 9], [4, 8, 2, 6, 1]])
attention_mask = (ids != 0).long()
position_ids = (attention_mask.cumsum(-1) - 1).clamp(min=0)
wte, wpe = nn.Embedding(10, 12), nn.Embedding(16, 12)
h = wte(ids) + wpe(position_ids)
c_attn = nn.Linear(12, 36)
q, k, v = (t.view(2, 5, 3, 4).transpose(1, 2) for t in c_attn(h).split(12, dim=2))
att = (q @ k.transpose(-2, -1)) * (1.0 / 4**0.5)
causal = torch.tril(torch.ones(5, 5, dtype=torch.bool))
keep = causal & attention_mask[:, None, None, :].bool() | torch.eye(5, dtype=torch.bool)
att = att.masked_fill(~keep, torch.finfo(att.dtype).min)
y = torch.softmax(att, dim=-1) @ v
print(y.transpose(1, 2).reshape(2, 5, 12)[:, -1])
