import torch

# windows of a shifted grid: tokens of different regions do not see each other
torch.manual_seed(8)
windows, heads, n, d = 4, 3, 4, 4
region = torch.tensor([[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 2], [0, 1, 2, 3]])
mask = (region[:, None, :] != region[:, :, None]).float() * -100.0
q, k, v = torch.randn(3, 2 * windows, heads, n, d)
attn = (q * d**-0.5) @ k.transpose(-2, -1) + torch.nn.Parameter(torch.randn(heads, n, n) * 0.02)
attn = (attn.view(2, windows, heads, n, n) + mask[None, :, None]).view(-1, heads, n, n)
print((attn.softmax(-1) @ v).shape)
