import math
import torch
import torch.nn as nn

torch.manual_seed(5)
d_model, max_len = 16, 100
sentence = torch.tensor([[3, 9, 4, 1, 7, 2]])  # one sentence

pe = torch.zeros(max_len, d_model)
position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
pe[:, 0::2] = torch.sin(position * div_term)
pe[:, 1::2] = torch.cos(position * div_term)
pe = pe.unsqueeze(0)

embedding = nn.Embedding(10, d_model)
x = embedding(sentence) * math.sqrt(d_model)
x = x + pe[:, : x.size(1)]

q_proj, k_proj, v_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
q, k, v = q_proj(x), k_proj(x), v_proj(x)
attn = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d_model), dim=-1)
out = attn @ v
print(attn.shape, out.shape)
