import torch
import torch.nn.functional as F
from torch import nn


class GPTInput(nn.Module):
    def __init__(self, vocab, block_size, n_embd):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab, n_embd)
        self.pos_emb = nn.Parameter(torch.zeros(1, block_size, n_embd).normal_(std=0.02))

    def forward(self, idx):
        b, t = idx.size()
        return self.tok_emb(idx) + self.pos_emb  # expect: ATT093


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


torch.manual_seed(1)
net = nn.Sequential(GPTInput(20, 16, 12), CausalSelfAttention(12, 3))
print(net(torch.randint(0, 20, (2, 6))).shape)
