import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d_model, nhead):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead)
        self.multihead_attn = nn.MultiheadAttention(d_model, nhead)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def with_pos_embed(self, tensor, pos=None):
        return tensor if pos is None else tensor + pos

    def forward(self, tgt, memory, pos, query_pos, memory_key_padding_mask=None):
        tgt2 = self.norm1(tgt)
        q = k = self.with_pos_embed(tgt2, query_pos)
        tgt2 = self.self_attn(q, k, value=tgt2)[0]
        tgt = tgt + tgt2
        tgt2 = self.norm2(tgt)
        tgt2, weights = self.multihead_attn(query=self.with_pos_embed(tgt2, query_pos),
                                            key=self.with_pos_embed(memory, pos),
                                            value=memory,
                                            key_padding_mask=memory_key_padding_mask)
        return tgt + tgt2, weights


torch.manual_seed(47)
n_obj, hw, bs, d = 5, 9, 2, 12
layers = nn.ModuleList([Layer(d, 3), Layer(d, 3)])
query_embed = nn.Embedding(n_obj, d)
query_pos = query_embed.weight.unsqueeze(1).repeat(1, bs, 1)
memory, pos = torch.randn(hw, bs, d), torch.randn(hw, bs, d)
pad = torch.zeros(bs, hw, dtype=torch.bool)
pad[1, 7:] = True
hs = torch.zeros_like(query_pos)
for layer in layers:
    hs, w = layer(hs, memory, pos, query_pos, memory_key_padding_mask=pad)
print(hs.shape, w.shape, hs.sum().item())
