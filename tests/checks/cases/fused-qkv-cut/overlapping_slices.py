import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_embd, self.n_head = n_embd, n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, T, C = x.size()
        qkv = self.c_attn(x)
        d = C // self.n_head
        q = qkv[..., :C]
        k = qkv[..., d:C + d]  # expect: ATT043
        v = qkv[..., 2 * C:]
        q, k, v = (t.reshape(B, T, self.n_head, d).transpose(1, 2) for t in (q, k, v))
        att = torch.softmax(q @ k.transpose(-2, -1) / d ** 0.5, dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).reshape(B, T, C))


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
