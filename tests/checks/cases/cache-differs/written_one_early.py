import torch
import torch.nn.functional as F
from torch import nn

# 静态缓存: 每一步写入一个位置
torch.manual_seed(2)
B, H, d, T = 2, 3, 4, 6
wq, wk, wv = (nn.Linear(H * d, H * d) for _ in range(3))
k_cache, v_cache = torch.zeros(B, H, T, d), torch.zeros(B, H, T, d)
x = torch.randn(B, T, H * d)


def heads(t):
    return t.view(B, -1, H, d).transpose(1, 2)


with torch.no_grad():
    prompt = x[:, :3]
    k_cache[:, :, :3], v_cache[:, :, :3] = heads(wk(prompt)), heads(wv(prompt))
    F.scaled_dot_product_attention(heads(wq(prompt)), k_cache[:, :, :3], v_cache[:, :, :3], is_causal=True)
    for t in range(3, T):
        token = x[:, t : t + 1]
        k_cache[:, :, t - 1 : t] = heads(wk(token))  # expect: ATT099
        v_cache[:, :, t - 1 : t] = heads(wv(token))
        y = F.scaled_dot_product_attention(heads(wq(token)), k_cache[:, :, :t], v_cache[:, :, :t])
print("最后一步:", y.shape)
