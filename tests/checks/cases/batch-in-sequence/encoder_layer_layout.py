import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, nhead=2, dim_feedforward=16, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.pos = nn.Parameter(torch.randn(1, 16, dim) * 0.02)
        self.fc = nn.Linear(dim, 3)

    def forward(self, ids):
        x = self.embed(ids) + self.pos[:, : ids.size(1)]
        h = self.encoder(x)  # expect: ATT024
        return self.fc(h[:, 0])


torch.manual_seed(234)
batch = torch.randint(0, 30, (3, 6))
print(Model(30, 8)(batch).shape)
