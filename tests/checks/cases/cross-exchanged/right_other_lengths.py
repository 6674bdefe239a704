# 交叉注意力：解码器（4 个词）去看编码器（7 个词）
import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q_proj, self.k_proj, self.v_proj, self.out = (nn.Linear(d, d) for _ in range(4))

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.h, -1).transpose(1, 2)

    def forward(self, decoder_hidden, encoder_hidden):
        q = self.split(self.q_proj(decoder_hidden))
        k = self.split(self.k_proj(encoder_hidden))
        v = self.split(self.v_proj(encoder_hidden))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
attn = CrossAttention(12, 3)
out = attn(torch.randn(2, 4, 12), torch.randn(2, 7, 12))
print("输出形状", out.shape)
