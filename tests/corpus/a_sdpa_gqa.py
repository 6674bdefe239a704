import torch
import torch.nn as nn
import torch.nn.functional as F


class GroupedQuery(nn.Module):
    def __init__(self, d_model, n_q, n_kv, d_head, native):
        super().__init__()
        self.n_q, self.n_kv, self.d_head, self.native = n_q, n_kv, d_head, native
        self.wq = nn.Linear(d_model, n_q * d_head, bias=False)
        self.wk = nn.Linear(d_model, n_kv * d_head, bias=False)
        self.wv = nn.Linear(d_model, n_kv * d_head, bias=False)
        self.wo = nn.Linear(n_q * d_head, d_model, bias=False)

    def forward(self, x):
        B, L, _ = x.shape
        xq = self.wq(x).view(B, L, self.n_q, self.d_head).transpose(1, 2)
        xk = self.wk(x).view(B, L, self.n_kv, self.d_head).transpose(1, 2)
        xv = self.wv(x).view(B, L, self.n_kv, self.d_head).transpose(1, 2)
        if self.native:
            out = F.scaled_dot_product_attention(xq, xk, xv, enable_gqa=True)
        else:
            groups = self.n_q // self.n_kv
            keys = xk.repeat_interleave(groups, dim=1)
            values = xv.repeat_interleave(groups, dim=1)
            out = F.scaled_dot_product_attention(xq, keys, values)
        return self.wo(out.transpose(1, 2).reshape(B, L, -1))


torch.manual_seed(8)
a = GroupedQuery(d_model=22, n_q=6, n_kv=2, d_head=4, native=True)
b = GroupedQuery(d_model=22, n_q=6, n_kv=2, d_head=4, native=False)
b.load_state_dict(a.state_dict())
x = torch.randn(3, 5, 22)
print(a(x).shape)
print("same:", torch.allclose(a(x), b(x), atol=1e-6))
