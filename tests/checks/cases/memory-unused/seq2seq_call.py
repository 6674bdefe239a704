# 编码器—解码器：解码器每一层都应该看到编码器的输出
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, query, key, value):
        q, k, v = self.q(query), self.k(key), self.v(value)
        w = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5, -1)
        return torch.bmm(w, v)


class DecoderLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.self_attention = Attention(d)
        self.encoder_attention = Attention(d)

    def forward(self, y, enc):
        y = y + self.self_attention(y, y, y)
        y = y + self.encoder_attention(y, y, y)  # expect: ATT039
        return y


class Seq2Seq(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.enc = Attention(d)
        self.dec = nn.ModuleList(DecoderLayer(d) for _ in range(2))
        self.out = nn.Linear(d, vocab)

    def forward(self, src, tgt):
        s = self.embed(src)
        memory = s + self.enc(s, s, s)
        y = self.embed(tgt)
        for layer in self.dec:
            y = layer(y, memory)
        return self.out(y)


torch.manual_seed(0)
model = Seq2Seq(13, 8)
print(model(torch.randint(0, 13, (2, 6)), torch.randint(0, 13, (2, 4))).shape)
