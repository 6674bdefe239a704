import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 3, 24, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1))


torch.manual_seed(8)
model = Classifier(20, 12, 4)
loss = nn.functional.cross_entropy(model(torch.randint(0, 20, (3, 5))), torch.tensor([1, 0, 3]))
loss.backward()
print(loss.item())
