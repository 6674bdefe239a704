# 教学脚本：一个函数从头走到尾，只运行一次
import torch
import torch.nn as nn


def main():
    torch.manual_seed(0)
    d = 8
    x = torch.randn(2, 4, d)
    w_q, w_k, w_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
    q, k, v = w_q(x), w_k(x), w_v(x)
    weights = torch.softmax(q @ k.transpose(1, 2) / d ** 0.5, dim=-1)
    print(weights.sum(-1))
    print((weights @ v).shape)


if __name__ == "__main__":
    main()
