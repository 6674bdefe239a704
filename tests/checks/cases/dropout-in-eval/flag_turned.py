import torch
import torch.nn as nn
import torch.nn.functional as F


class Attn(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.d, self.h, self.p = d, h, p
        self.qkv = nn.Linear(d, 3 * d)
        self.o = nn.Linear(d, d)

    def forward(self, x):
        b, l, _ = x.shape
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        s = q @ k.transpose(-1, -2) * (self.d // self.h) ** -0.5
        a = F.dropout(s.softmax(-1), self.p, training=not self.training)  # expect: ATT101
        return self.o((a @ v).transpose(1, 2).reshape(b, l, self.d))


torch.manual_seed(3)
m = Attn(8, 2, 0.1)
x, y = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    loss = F.mse_loss(m(x), y)
    loss.backward()
    opt.step()
m.eval()
with torch.no_grad():
    print("val", F.mse_loss(m(x), y).item())
