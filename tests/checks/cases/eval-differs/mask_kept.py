import torch
import torch.nn.functional as F
from torch import nn


class Decoder(nn.Module):
    def __init__(self, d, h, max_len=8):
        super().__init__()
        self.h = h
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("keep", torch.ones(max_len, max_len).tril().bool())

    def forward(self, x, length):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        mask = self.keep[:l, :l]
        mask[:, length:] = False  # expect: ATT102
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
model = Decoder(12, 3)
model.eval()
a, b = torch.randn(1, 5, 12), torch.randn(1, 5, 12)
with torch.no_grad():
    print("长度 5:", model(a, 5).sum().item())
    print("长度 3:", model(b, 3).sum().item())
    print("长度 5:", model(a, 5).sum().item())
