import torch
import torch.nn.functional as F
from torch import nn

# rolling buffer of the last 4 keys (Mistral): older tokens are out of the window by design
torch.manual_seed(2)
B, d, window = 2, 8, 4
wq, wk, wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
k_buf, v_buf = torch.zeros(B, window, d), torch.zeros(B, window, d)
with torch.no_grad():
    for t, x in enumerate(torch.randn(7, B, 1, d)):
        k_buf[:, t % window], v_buf[:, t % window] = wk(x)[:, 0], wv(x)[:, 0]
        n = min(t + 1, window)
        y = F.scaled_dot_product_attention(wq(x), k_buf[:, :n], v_buf[:, :n])
print(y.shape)
