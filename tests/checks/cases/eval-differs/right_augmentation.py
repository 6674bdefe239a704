import torch
from torch import nn


class Encoder(nn.Module):
    """masked patch training: part of the tokens is replaced while training"""

    def __init__(self, d, h):
        super().__init__()
        self.mask_token = nn.Parameter(torch.zeros(d))
        self.attn = nn.MultiheadAttention(d, h, dropout=0.1, batch_first=True)

    def forward(self, x):
        if self.training:
            hide = torch.rand(x.shape[:2]) < 0.4
            x = torch.where(hide.unsqueeze(-1), self.mask_token, x)
        return self.attn(x, x, x, need_weights=False)[0]


torch.manual_seed(0)
enc = Encoder(12, 3)
opt = torch.optim.SGD(enc.parameters(), 0.1)
for _ in range(2):
    x = torch.randn(2, 5, 12) + 0.01 * torch.randn(2, 5, 12)
    loss = (enc(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
enc.eval()
print(loss.item(), enc(torch.randn(2, 5, 12)).norm())
