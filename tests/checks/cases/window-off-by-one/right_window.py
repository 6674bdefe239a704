import torch
import torch.nn.functional as F


class SlidingWindowAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads, window_size):
        super().__init__()
        self.n_heads, self.window_size = n_heads, window_size
        self.qkv = torch.nn.Linear(d_model, 3 * d_model)
        self.out = torch.nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = self.qkv(x).view(B, L, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        i = torch.arange(L)
        distance = i[:, None] - i[None, :]
        mask = (distance >= 0) & (distance < self.window_size)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(B, L, D))


torch.manual_seed(0)
print(SlidingWindowAttention(12, 3, window_size=3)(torch.randn(2, 8, 12)).shape)
