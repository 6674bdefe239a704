import torch
import torch.nn.functional as F

# keys and values stand in a cache of full length, at their positions
torch.manual_seed(4)
B, H, M, d = 2, 3, 8, 4
cache_k, cache_v = torch.zeros(B, H, M, d), torch.zeros(B, H, M, d)
causal = torch.ones(M, M, dtype=torch.bool).tril()
qkv = torch.nn.Linear(H * d, 3 * H * d)


def run(x, positions):
    b, n, _ = x.shape
    q, k, v = qkv(x).view(b, n, 3, H, d).permute(2, 0, 3, 1, 4)
    cache_k[:, :, positions], cache_v[:, :, positions] = k, v
    return F.scaled_dot_product_attention(q, cache_k, cache_v, attn_mask=causal[positions])


x = torch.randn(B, 6, H * d)
with torch.no_grad():
    print(run(x[:, :4], torch.arange(4)).shape)
    print(run(x[:, 4:5], torch.tensor([4])).shape, run(x[:, 5:], torch.tensor([5])).shape)
