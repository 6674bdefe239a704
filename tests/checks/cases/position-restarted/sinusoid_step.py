import math
import torch
from torch import nn

# 带缓存的逐步解码, 正弦位置编码
torch.manual_seed(2)
d, vocab = 12, 19
pos = torch.arange(40).unsqueeze(1)
div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
pe = torch.zeros(40, d)
pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)

emb, head = nn.Embedding(vocab, d), nn.Linear(d, vocab)
Wq, Wk, Wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
keys, values = [], []
token = torch.tensor([[3], [7]])
with torch.no_grad():
    for step in range(5):
        x = emb(token) * math.sqrt(d) + pe[: token.size(1)]  # expect: ATT097
        keys.append(Wk(x))
        values.append(Wv(x))
        K, V = torch.cat(keys, dim=1), torch.cat(values, dim=1)
        w = torch.softmax(Wq(x) @ K.transpose(1, 2) / math.sqrt(d), dim=-1)
        token = head(w @ V).argmax(-1)
        print("第", step, "步:", token.flatten().tolist())
