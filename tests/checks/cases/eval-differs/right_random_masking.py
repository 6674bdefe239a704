# MAE: a random part of the patches goes through the encoder, in evaluation too
import torch
from torch import nn


class MaskedEncoder(nn.Module):
    def __init__(self, d, h, keep=3):
        super().__init__()
        self.keep = keep
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)

    def forward(self, x):
        noise = torch.rand(x.shape[:2])
        order = noise.argsort(dim=1)[:, : self.keep]
        x = torch.gather(x, 1, order.unsqueeze(-1).expand(-1, -1, x.size(-1)))
        return self.attn(x, x, x, need_weights=False)[0]


torch.manual_seed(0)
print(MaskedEncoder(12, 3).eval()(torch.randn(2, 6, 12)).shape)
