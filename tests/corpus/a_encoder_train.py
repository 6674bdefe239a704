import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, vocab, d, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        layer = nn.TransformerEncoderLayer(d, nhead=2, dim_feedforward=32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(d, classes)

    def forward(self, ids):
        # 预测每个序列的类别
        h = self.emb(ids)
        causal = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        h = self.encoder(h, mask=causal, is_causal=True)
        return self.head(h.mean(dim=1))


torch.manual_seed(14)
model = Classifier(vocab=50, d=10, classes=3)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
ids = torch.randint(0, 50, (4, 7))
labels = torch.tensor([0, 2, 1, 1])

model.train()
for epoch in range(3):
    loss = nn.functional.cross_entropy(model(ids), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
