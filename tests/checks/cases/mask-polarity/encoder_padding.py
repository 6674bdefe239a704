import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab, dim, classes, pad):
        super().__init__()
        self.pad = pad
        self.embed = nn.Embedding(vocab, dim, padding_idx=pad)
        layer = nn.TransformerEncoderLayer(dim, 3, 24, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        keep = ids.ne(self.pad)
        h = self.encoder(self.embed(ids), src_key_padding_mask=keep)  # expect: ATT051
        h = (h * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)
        return self.head(h)


torch.manual_seed(6)
model = Classifier(30, 12, 4, pad=0)
ids = torch.tensor([[3, 8, 21, 5, 0], [14, 2, 0, 0, 0]])
loss = nn.functional.cross_entropy(model(ids), torch.tensor([1, 3]))
loss.backward()
print(loss.item())
