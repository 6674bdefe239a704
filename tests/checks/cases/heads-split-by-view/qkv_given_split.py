import torch
import torch.nn.functional as F
def multi_head(q, k, v, h):
    b, n, d = q.shape
    q = q.reshape(b, h, n, d // h)  # expect: ATT041
    k = k.reshape(b, h, n, d // h)  # expect: ATT041
    v = v.reshape(b, h, n, d // h)  # expect: ATT041
    s = q @ k.transpose(-1, -2) / (d // h) ** 0.5
    return (F.softmax(s, dim=-1) @ v).transpose(1, 2).reshape(b, n, d)
torch.manual_seed(0)
q, k, v = torch.randn(2, 5, 12), torch.randn(2, 5, 12), torch.randn(2, 5, 12)
print(multi_head(q, k, v, 3).shape)
