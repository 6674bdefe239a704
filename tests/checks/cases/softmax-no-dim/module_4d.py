import torch
import torch.nn as nn


class MultiHead(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.d_k = d_model // heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.softmax = nn.Softmax()

    def forward(self, x):
        b, l, d = x.size()
        q = self.q_proj(x).reshape(b, l, self.heads, self.d_k).permute(0, 2, 1, 3)
        k = self.k_proj(x).reshape(b, l, self.heads, self.d_k).permute(0, 2, 3, 1)
        v = self.v_proj(x).reshape(b, l, self.heads, self.d_k).permute(0, 2, 1, 3)
        score = q.matmul(k) / self.d_k ** 0.5
        score = self.softmax(score)  # expect: ATT002
        out = score.matmul(v).permute(0, 2, 1, 3).reshape(b, l, d)
        return self.out_proj(out)


torch.manual_seed(31)
net = MultiHead(8, 2)
print(net(torch.randn(2, 4, 8)).shape)
