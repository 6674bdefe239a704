import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        bs = q.size(0)
        q = self.q_linear(q).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        k = self.k_linear(k).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        v = self.v_linear(v).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / self.d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        scores = torch.softmax(scores, dim=-1)
        concat = torch.matmul(scores, v).transpose(1, 2).contiguous().view(bs, -1, self.n_heads * self.d_k)
        return self.out(concat)


torch.manual_seed(1)
ids = torch.tensor([[4, 6, 2, 8, 1], [3, 5, 0, 0, 0]])
x = nn.Embedding(10, 12)(ids)
print(MultiHeadAttention(12, 3)(x, x, x, (ids != 0)[:, None, :]).shape)
