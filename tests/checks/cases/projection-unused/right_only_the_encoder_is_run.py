import torch
import torch.nn as nn


class Seq2Seq(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(d, h, 16, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(d, h, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, 9)

    def encode(self, src):
        return self.encoder(src)

    def decode(self, tgt, memory):
        return self.head(self.decoder(tgt, memory))

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src))


torch.manual_seed(0)
model = Seq2Seq(8, 2)
print(model.encode(torch.randn(2, 5, 8)).shape)
