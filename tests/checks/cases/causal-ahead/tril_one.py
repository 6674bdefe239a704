import torch
from torch import nn


class MaskedAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
        self.register_buffer("mask", torch.tril(torch.ones(max_len, max_len), diagonal=1))  # expect: ATT072

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = self.qkv(x).reshape(B, L, 3, self.num_heads, D // self.num_heads).permute(2, 0, 3, 1, 4)
        attn = (q @ k.transpose(-2, -1)) / (D // self.num_heads) ** 0.5
        attn = attn.masked_fill(self.mask[:L, :L] == 0, -1e9)
        return self.out((attn.softmax(-1) @ v).transpose(1, 2).reshape(B, L, D))


torch.manual_seed(1)
print(MaskedAttention(12, 3, 9)(torch.randn(2, 5, 12)).shape)
