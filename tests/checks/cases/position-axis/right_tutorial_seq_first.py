import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        """x: [seq_len, batch_size, embedding_dim]"""
        x = x + self.pe[: x.size(0)]
        return self.dropout(x)


torch.manual_seed(0)
src = torch.randint(0, 20, (5, 2))
embed, pos = nn.Embedding(20, 12), PositionalEncoding(12)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 24), 2)
mask = nn.Transformer.generate_square_subsequent_mask(5)
out = encoder(pos(embed(src) * math.sqrt(12)), mask)
print(out.shape)
