import torch
from torch import nn


class TransformerLM(nn.Module):
    def __init__(self, vocab, d_model, nhead):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.position = nn.Parameter(torch.randn(16, d_model) * 0.02)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 4 * d_model, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.fc = nn.Linear(d_model, vocab)

    def forward(self, x):
        h = self.embedding(x) + self.position[: x.size(1)]
        h = self.encoder(h)  # expect: ATT071
        return self.fc(h)


torch.manual_seed(2)
model = TransformerLM(23, 12, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for step in range(2):
    batch = torch.randint(0, 23, (2, 6))
    inputs, targets = batch[:, :-1], batch[:, 1:]
    logits = model(inputs)
    loss = criterion(logits.reshape(-1, 23), targets.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
