import torch
import torch.nn as nn
class Enc(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        layers = [nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(n)]
        self.net = nn.Sequential(*layers)
    def forward(self, x):
        return self.net(x)
torch.manual_seed(0)
print(Enc(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 3)(torch.randn(2, 5, 8)).shape)
