import torch
import torch.nn as nn


class CausalHead(nn.Module):
    def __init__(self, d_in, d_k, max_len):
        super().__init__()
        self.d_k = d_k
        self.qkv = nn.Linear(d_in, 3 * d_k)
        self.register_buffer("tril", torch.tril(torch.ones(max_len, max_len)))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q * self.d_k ** 0.5  # expect: ATT013
        att = torch.bmm(q, k.transpose(1, 2))
        att = att.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.bmm(torch.softmax(att, dim=-1), v)


torch.manual_seed(152)
print(CausalHead(11, 6, 9)(torch.randn(2, 5, 11)).shape)
