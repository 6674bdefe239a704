import torch
from torch import nn

torch.manual_seed(5)
V, D = 14, 12
src = torch.randint(1, V, (2, 7))
tgt = torch.randint(1, V, (2, 6))
embed, head = nn.Embedding(V, D), nn.Linear(D, V)
model = nn.Transformer(D, 3, 1, 1, 24, dropout=0.0, batch_first=True)
tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
tgt_mask = nn.Transformer.generate_square_subsequent_mask(tgt_in.size(1))
hidden = model(embed(src), embed(tgt_in), tgt_mask=tgt_mask)
loss = nn.functional.cross_entropy(head(hidden).transpose(1, 2), tgt_out)
loss.backward()
print(loss.item())
