import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        scores = scores + torch.full((n, n), float("-inf")).triu(1)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class Writer(nn.Module):
    def __init__(self, vocab, d, heads):
        super().__init__()
        self.embed, self.attn, self.head = nn.Embedding(vocab, d), SelfAttention(d, heads), nn.Linear(d, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(x + self.attn(x))


torch.manual_seed(13)
model = Writer(17, 12, 3).eval()
ids = torch.randint(0, 17, (1, 4))
with torch.no_grad():
    for _ in range(3):
        probabilities = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probabilities, 1)], dim=1)
print(ids.tolist())
