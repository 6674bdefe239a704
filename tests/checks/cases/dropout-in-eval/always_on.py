import torch, math
import torch.nn as nn
import torch.nn.functional as F

class Attn(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        w = F.softmax(q @ k.transpose(1, 2) / math.sqrt(12), -1)
        w = F.dropout(w, p=0.1, training=True)  # expect: ATT101
        return w @ v

torch.manual_seed(0)
m = Attn().eval()
print(m(torch.randn(2, 5, 12)).shape)
