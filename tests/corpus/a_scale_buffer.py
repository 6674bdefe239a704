import torch
import torch.nn as nn
import torch.nn.functional as F


class Raw(nn.Module):
    """raw parameters instead of nn.Linear; the scale is a buffer"""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.w_q = nn.Parameter(torch.randn(d_in, d_out) / d_in ** 0.5)
        self.w_k = nn.Parameter(torch.randn(d_in, d_out) / d_in ** 0.5)
        self.w_v = nn.Parameter(torch.randn(d_in, d_out) / d_in ** 0.5)
        self.register_buffer("scale", torch.rsqrt(torch.tensor(float(d_out))))

    def forward(self, x):
        keys = x @ self.w_k
        queries = x @ self.w_q
        values = x @ self.w_v
        attn_scores = queries @ keys.transpose(1, 2) * self.scale
        return torch.softmax(attn_scores, dim=-1) @ values


class RawSqrt(Raw):
    def forward(self, x):
        keys, queries, values = x @ self.w_k, x @ self.w_q, x @ self.w_v
        dk = torch.tensor(keys.size(-1), dtype=torch.float32)
        logits = torch.matmul(queries, torch.transpose(keys, -2, -1))
        scaled = logits / torch.sqrt(dk)
        return torch.matmul(F.log_softmax(scaled, dim=-1).exp(), values)


torch.manual_seed(29)
batch = torch.randn(2, 6, 3)
a, b = Raw(3, 2), RawSqrt(3, 2)
b.load_state_dict(a.state_dict())
print(a(batch).shape)
print((a(batch) - b(batch)).abs().max() < 1e-6)
