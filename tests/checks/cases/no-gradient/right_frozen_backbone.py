import torch
from torch import nn


class Captioner(nn.Module):
    """a frozen encoder under a trained decoder"""

    def __init__(self, d, h):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(d, h, 24, dropout=0.0, batch_first=True)
        for p in self.encoder.parameters():
            p.requires_grad_(False)
        self.cross = nn.MultiheadAttention(d, h, batch_first=True)
        self.query = nn.Parameter(torch.randn(1, 4, d))

    def forward(self, image):
        with torch.no_grad():
            memory = self.encoder(image)
        return self.cross(self.query.expand(image.size(0), -1, -1), memory, memory, need_weights=False)[0]


torch.manual_seed(0)
net = Captioner(12, 3)
net(torch.randn(2, 5, 12)).sum().backward()
print([n for n, p in net.named_parameters() if p.grad is not None])
