import torch
import torch.nn as nn

# 束搜索：每个样本复制成 3 条束，复制的是批，不是头
torch.manual_seed(0)
memory = torch.randn(2, 6, 8)
beams = 3
wq, wk, wv = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
state = torch.randn(2 * beams, 1, 8)
k = wk(memory).repeat_interleave(beams, dim=0)
v = wv(memory).repeat_interleave(beams, dim=0)
w = torch.softmax(wq(state) @ k.transpose(1, 2) / 8 ** 0.5, dim=-1)
print((w @ v).shape)
