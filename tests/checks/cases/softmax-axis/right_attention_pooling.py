import torch
import torch.nn as nn


class AttentionPool(nn.Module):
    """用一个可学习的查询把整句压成一个向量"""

    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)

    def forward(self, x):                        # [B, L, D]
        w = torch.softmax(self.score(x), dim=1)  # [B, L, 1]
        return (w * x).sum(1)


torch.manual_seed(26)
print(AttentionPool(6)(torch.randn(3, 5, 6)).shape)
