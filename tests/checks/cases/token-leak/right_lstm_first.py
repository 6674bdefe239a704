import torch
from torch import nn


class TextClassifier(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb, self.lstm = nn.Embedding(vocab, d), nn.LSTM(d, d // 2, bidirectional=True, batch_first=True)
        self.q, self.k, self.v, self.out = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 2)

    def forward(self, ids):
        h, _ = self.lstm(self.emb(ids))
        w = torch.softmax(self.q(h) @ self.k(h).transpose(1, 2) / h.size(-1) ** 0.5, dim=-1)
        return self.out((w @ self.v(h)).mean(1))


torch.manual_seed(2)
print(TextClassifier(15, 8)(torch.randint(0, 15, (2, 5))))
