"""T5 has no scale: its initial weights take the place of it."""
import torch
import torch.nn as nn


class T5Attention(nn.Module):
    def __init__(self, d_model, d_kv, heads, buckets=8):
        super().__init__()
        self.h, self.d = heads, d_kv
        inner = heads * d_kv
        self.q = nn.Linear(d_model, inner, bias=False)
        self.k = nn.Linear(d_model, inner, bias=False)
        self.v = nn.Linear(d_model, inner, bias=False)
        self.o = nn.Linear(inner, d_model, bias=False)
        self.relative_attention_bias = nn.Embedding(buckets, heads)
        nn.init.normal_(self.q.weight, std=(d_model * d_kv) ** -0.5)
        nn.init.normal_(self.k.weight, std=d_model ** -0.5)

    def forward(self, x):
        B, L, _ = x.shape
        q, k, v = (f(x).view(B, L, self.h, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(3, 2))
        distance = (torch.arange(L)[None] - torch.arange(L)[:, None]).clamp(-4, 3) + 4
        scores = scores + self.relative_attention_bias(distance).permute(2, 0, 1).unsqueeze(0)
        attn = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        return self.o((attn @ v).transpose(1, 2).reshape(B, L, -1))


torch.manual_seed(117)
print(T5Attention(12, 5, 3)(torch.randn(2, 6, 12)).shape)
