import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, attn_drop, resid_drop):
        super().__init__()
        self.h, self.d_k = n_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.drops = nn.ModuleDict({"attn": nn.Dropout(attn_drop), "resid": nn.Dropout(resid_drop)})

    def forward(self, x):
        B, L, D = x.shape
        q = self.q_proj(x).view(B, L, self.h, self.d_k).transpose(1, 2)
        k = self.k_proj(x).view(B, L, self.h, self.d_k).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.h, self.d_k).transpose(1, 2)
        att = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.d_k), dim=-1)
        att = self.drops["attn"](att)
        out = (att @ v).transpose(1, 2).reshape(B, L, D)
        return self.drops["resid"](self.out_proj(out))


torch.manual_seed(0)
mha = MultiHeadAttention(12, 3, attn_drop=0.3, resid_drop=0.1)
mha.eval()
with torch.no_grad():
    print(mha(torch.randn(2, 5, 12))[0, 0, :3])
