import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderLayer(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
        self.d_model = d_model

    def attend(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        logits = torch.bmm(q, k.permute(0, 2, 1))  # expect: ATT011
        return self.o(torch.bmm(F.softmax(logits, dim=2), v))

    def forward(self, x):
        x = self.ln1(x + self.attend(x))
        return self.ln2(x + self.ff(x))


class Encoder(nn.Module):
    def __init__(self, vocab, d_model, layers):
        super().__init__()
        self.emb = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList([EncoderLayer(d_model, 20) for _ in range(layers)])

    def forward(self, ids):
        x = self.emb(ids) * self.emb.embedding_dim ** 0.5
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(104)
print(Encoder(13, 10, 2)(torch.randint(0, 13, (2, 6))).shape)
