import torch
from torch import nn


class FoldedAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)

    def fold(self, t):
        B, L, _ = t.shape
        return t.view(B, L, self.num_heads, self.head_dim).transpose(1, 2).reshape(B * self.num_heads, L, -1)

    def forward(self, x, keep):
        B, L, D = x.shape
        q, k, v = self.fold(self.q_proj(x)), self.fold(self.k_proj(x)), self.fold(self.v_proj(x))
        scores = torch.bmm(q, k.transpose(1, 2)) * self.head_dim**-0.5
        mask = keep[:, None, :].repeat_interleave(self.num_heads, dim=0)
        scores = scores.masked_fill(~mask, -1e9)
        out = torch.bmm(scores.softmax(-1), v)
        return out.view(B, self.num_heads, L, -1).transpose(1, 2).reshape(B, L, D)


torch.manual_seed(0)
ids = torch.tensor([[3, 7, 2, 5, 8], [6, 4, 0, 0, 0]])
print(FoldedAttention(12, 3)(nn.Embedding(9, 12)(ids), ids != 0)[1, 0])
