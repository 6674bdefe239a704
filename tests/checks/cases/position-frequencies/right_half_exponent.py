import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def get_angles(pos, i, d_model):
    angle_rates = 1 / np.power(10000, ((2 * (i // 2))) / np.float32(d_model))
    return pos * angle_rates


def positional_encoding(position, d_model):
    angle_rads = get_angles(np.arange(position)[:, np.newaxis], np.arange(d_model)[np.newaxis, :], d_model)
    angle_rads[:, 0::2] = np.sin(angle_rads[:, 0::2])
    angle_rads[:, 1::2] = np.cos(angle_rads[:, 1::2])
    return torch.tensor(angle_rads[np.newaxis, ...], dtype=torch.float32)


class Encoder(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.pos_encoding = positional_encoding(40, d_model)
        self.wq, self.wk, self.wv, self.dense = (nn.Linear(d_model, d_model) for _ in range(4))

    def split_heads(self, x):
        return x.reshape(x.size(0), x.size(1), self.num_heads, -1).permute(0, 2, 1, 3)

    def forward(self, x):
        x = x + self.pos_encoding[:, : x.size(1), :]
        q, k, v = self.split_heads(self.wq(x)), self.split_heads(self.wk(x)), self.split_heads(self.wv(x))
        logits = torch.matmul(q, k.transpose(-1, -2)) / q.size(-1) ** 0.5
        y = torch.matmul(F.softmax(logits, dim=-1), v)
        return self.dense(y.permute(0, 2, 1, 3).flatten(2))


torch.manual_seed(3)
print(Encoder(12, 3)(torch.randn(2, 5, 12)).shape)
