import torch
import torch.nn.functional as F
from torch import nn

# beams are reordered, and the cache with them
torch.manual_seed(4)
d, beams = 8, 3
emb, wq, wk, wv, head = nn.Embedding(11, d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 11)
tokens, K, V = torch.tensor([[1], [1], [1]]), torch.empty(beams, 0, d), torch.empty(beams, 0, d)
score = torch.tensor([0.0, -9.0, -9.0])
with torch.no_grad():
    for _ in range(4):
        x = emb(tokens[:, -1:])
        K, V = torch.cat((K, wk(x)), 1), torch.cat((V, wv(x)), 1)
        y = F.scaled_dot_product_attention(wq(x), K, V)
        total = score[:, None] + head(y[:, 0]).log_softmax(-1)
        score, flat = total.flatten().topk(beams)
        beam, word = flat // 11, flat % 11
        tokens = torch.cat((tokens[beam], word[:, None]), dim=1)
        K, V = K[beam], V[beam]
print(tokens)
