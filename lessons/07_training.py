# 第 7 课：训练。
#
# 任务：把一串数字倒过来。答案的第 i 个词是原文的第 L-1-i 个词，
# 所以学会以后，注意力的表应当正好是一条反对角线。训练之前，它只是噪声。
# 模型是一层双向自注意力加一层前馈，没有人告诉它该看哪里。

import math

import torch
import torch.nn as nn


class Reverser(nn.Module):
    def __init__(self, vocabulary, d_model, seq_len, n_heads=1):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        self.token = nn.Embedding(vocabulary, d_model)
        # 位置是这道题的关键：没有它，打乱的输入只能得到打乱的输出，永远学不会“倒过来”。
        self.position = nn.Parameter(torch.randn(seq_len, d_model) * 0.5)
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))
        self.head = nn.Linear(d_model, vocabulary)

    def split(self, x):
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)  # [B, L, D] → [B, H, L, d_k]

    def attend(self, x):
        Q, K, V = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))  # [B, H, L, d_k]
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L, L]
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
        heads = torch.matmul(weights, V).transpose(1, 2).reshape(x.shape)  # [B, H, L, d_k] → [B, L, D]
        return self.W_o(heads), weights

    def forward(self, ids):  # ids: [B, L]
        x = self.token(ids) + self.position  # [B, L] → [B, L, D]
        attended, weights = self.attend(self.norm1(x))  # [B, L, D], [B, H, L, L]
        x = x + attended  # [B, L, D]
        x = x + self.feed_forward(self.norm2(x))  # [B, L, D]
        return self.head(x), weights  # [B, L, V], [B, H, L, L]


def batch(size, seq_len, vocabulary, generator):
    ids = torch.randint(vocabulary, (size, seq_len), generator=generator)  # [B, L]
    return ids, ids.flip(1)


def picture(weights):
    # 一个格子一个字符：越深，权重越大。
    shades = " .:-=+*#%@"
    return "\n".join("    " + "".join(2 * shades[min(9, int(10 * w))] for w in row) for row in weights.tolist())


def train(model, steps, seq_len, vocabulary, generator, show=True):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    # 学习率先升后降：开头太大会乱，结尾太大会抖。
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    for step in range(1, steps + 1):
        ids, answer = batch(64, seq_len, vocabulary, generator)
        logits, _ = model(ids)  # [B, L, V]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), answer.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if show and step % max(1, steps // 10) == 0:
            bar = "█" * (20 * step // steps)
            print(f"step {step:3}  |{bar:<20}|  loss {loss.item():.4f}")


def accuracy(model, seq_len, vocabulary, generator, count=1000):
    ids, answer = batch(count, seq_len, vocabulary, generator)
    with torch.no_grad():
        guess = model(ids)[0].argmax(dim=-1)  # [B, L, V] → [B, L]
    # 整串全对才算对。
    return (guess == answer).all(dim=-1).float().mean().item()


if __name__ == "__main__":
    vocabulary = 10
    seq_len = 12
    d_model = 64
    steps = 150

    torch.manual_seed(42)
    generator = torch.Generator().manual_seed(0)
    model = Reverser(vocabulary, d_model, seq_len)
    ids, _ = batch(1, seq_len, vocabulary, generator)

    with torch.no_grad():
        print("attention before training (rows are queries, columns are keys):")
        print(picture(model(ids)[1][0, 0]))

    train(model, steps, seq_len, vocabulary, generator)

    with torch.no_grad():
        logits, weights = model(ids)
        print("attention after training:")
        print(picture(weights[0, 0]))
        print("given: ", *ids[0].tolist())
        print("answer:", *logits[0].argmax(dim=-1).tolist())
    print(f"exact on 1000 unseen sequences: {accuracy(model, seq_len, vocabulary, generator):.1%}")
