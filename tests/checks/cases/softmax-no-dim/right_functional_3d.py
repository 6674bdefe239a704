import math
import warnings

import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore")
torch.manual_seed(30)
x = torch.randn(2, 5, 12)
w_q, w_k, w_v = torch.randn(12, 12), torch.randn(12, 12), torch.randn(12, 12)
q, k, v = x @ w_q, x @ w_k, x @ w_v
scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(12)
attn = F.softmax(scores, dim=-1)
print((attn @ v).shape)
