import math
import torch
import torch.nn as nn


class MHA(nn.Module):
    def __init__(self, d_model, n_heads, d_head):
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_head
        self.q_proj = nn.Linear(d_model, n_heads * d_head)
        self.k_proj = nn.Linear(d_model, n_heads * d_head)
        self.v_proj = nn.Linear(d_model, n_heads * d_head)
        self.o_proj = nn.Linear(n_heads * d_head, d_model)

    def forward(self, x):
        b, l, _ = x.shape
        # heads stay behind the sequence axis: [b, l, h, d]
        q = self.q_proj(x).reshape(b, l, self.n_heads, self.d_head)
        k = self.k_proj(x).reshape(b, l, self.n_heads, self.d_head)
        v = self.v_proj(x).reshape(b, l, self.n_heads, self.d_head)

        logits = torch.einsum("bqhd,bkhd->bhqk", q, k)
        probs = torch.softmax(logits / math.sqrt(self.d_head), dim=-1)
        y = torch.einsum("bhqk,bkhd->bqhd", probs, v)
        return self.o_proj(y.reshape(b, l, -1))


if __name__ == "__main__":
    torch.manual_seed(11)
    mha = MHA(d_model=14, n_heads=3, d_head=4)
    out = mha(torch.randn(2, 5, 14))
    print(out.shape)
    print(out.mean(dim=(0, 1)))
