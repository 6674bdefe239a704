import math

import torch
from torch import nn

PAD = 0


class Decoder自注意力(nn.Module):
    """带因果掩码和填充掩码的自注意力"""

    def __init__(self, d_model, heads):
        super().__init__()
        self.h, self.d = heads, d_model // heads
        self.投影 = nn.ModuleDict({名: nn.Linear(d_model, d_model) for 名 in "qkv"})

    def 拆头(self, t):
        return t.view(t.size(0), t.size(1), self.h, self.d).permute(0, 2, 1, 3)

    def forward(self, x, ids):
        q = self.拆头(self.投影["q"](x))
        k = self.拆头(self.投影["k"](x))
        v = self.拆头(self.投影["v"](x))

        分数 = q @ k.transpose(2, 3) / math.sqrt(self.d)
        # 先挡住填充，再挡住未来
        分数 = 分数.masked_fill((ids == PAD)[:, None, None, :], float("-inf"))
        未来 = torch.ones(x.size(1), x.size(1)).triu(1).bool()
        分数 = 分数.masked_fill(未来, float("-inf"))
        权重 = 分数.softmax(dim=-1)
        return (权重 @ v).transpose(1, 2).flatten(2)


torch.manual_seed(19)
ids = torch.tensor([[3, 5, 2, 7, 1, 4], [6, 2, 9, 8, PAD, PAD]])
emb = nn.Embedding(10, 12, padding_idx=PAD)
层 = Decoder自注意力(12, 3)
y = 层(emb(ids), ids)
print("输出", y.shape, "有无 NaN:", y.isnan().any().item())
