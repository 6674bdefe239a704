"""[L, B, D] all the way, softmax over dim 1, as in the older language models."""
import torch
import torch.nn as nn


class RelFreeAttn(nn.Module):
    def __init__(self, n_head, d_model, d_head):
        super().__init__()
        self.n_head, self.d_head = n_head, d_head
        self.qkv_net = nn.Linear(d_model, 3 * n_head * d_head, bias=False)
        self.o_net = nn.Linear(n_head * d_head, d_model, bias=False)
        self.layer_norm = nn.LayerNorm(d_model)
        self.scale = 1 / (d_head ** 0.5)

    def forward(self, w, attn_mask=None):
        qlen, bsz = w.size(0), w.size(1)
        w_heads = self.qkv_net(w)
        w_head_q, w_head_k, w_head_v = torch.chunk(w_heads, 3, dim=-1)
        w_head_q = w_head_q.view(qlen, bsz, self.n_head, self.d_head)
        w_head_k = w_head_k.view(qlen, bsz, self.n_head, self.d_head)
        w_head_v = w_head_v.view(qlen, bsz, self.n_head, self.d_head)

        # [qlen x klen x bsz x n_head]
        attn_score = torch.einsum('ibnd,jbnd->ijbn', (w_head_q, w_head_k))
        attn_score.mul_(self.scale)
        if attn_mask is not None and attn_mask.any().item():
            attn_score.masked_fill_(attn_mask[:, :, None, None], -float('inf'))
        attn_prob = torch.nn.functional.softmax(attn_score, dim=1)

        attn_vec = torch.einsum('ijbn,jbnd->ibnd', (attn_prob, w_head_v))
        attn_vec = attn_vec.contiguous().view(qlen, bsz, self.n_head * self.d_head)
        return self.layer_norm(w + self.o_net(attn_vec))


torch.manual_seed(32)
L, B, D = 6, 4, 17
layer = RelFreeAttn(n_head=2, d_model=D, d_head=5)
h = torch.randn(L, B, D)
future = torch.triu(torch.ones(L, L, dtype=torch.bool), 1)
print(layer(h, future).shape)
