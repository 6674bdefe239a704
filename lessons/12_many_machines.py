# 第 12 课：不止一台机器。
#
# 一、序列太长，一台放不下：每个进程（rank）只拿一段 Q、K、V。自己的 Q 要看遍所有的 K、V，
#     于是让 K、V 在一个环上传：每一轮看手上的一段，再传给下一个，同时从上一个接过来。
#     每看一段，就用第 11 课的办法把 softmax 续上。走完一圈，谁都看过了全部，谁也没存过全部。
# 二、数据太多，一台训练太慢：每个进程算一部分样本，把梯度平均，模型始终一样（DDP）。
#
# 这样启动两个进程：torchrun --nproc_per_node 2 lessons/12_many_machines.py
# 单独运行时只有一个进程，环上只有它自己。

import math

import torch
import torch.distributed as dist
import torch.nn as nn


def ring_attention(Q, K, V):  # 这个进程的一段：[B, H, L/R, d_k]，R 是进程数
    rank, world = dist.get_rank(), dist.get_world_size()
    m = torch.full_like(Q[..., :1], float("-inf"))  # [B, H, L/R, 1]，见过的最大分数
    s = torch.zeros_like(m)  # [B, H, L/R, 1]，分母
    o = torch.zeros_like(Q)  # [B, H, L/R, d_k]，分子
    held = torch.stack((K, V))  # [2, B, H, L/R, d_k]
    for turn in range(world):
        last = turn == world - 1
        if not last:
            # 先发起传送，再算手上的一段：传和算同时进行。
            coming = torch.empty_like(held)
            sending = dist.P2POp(dist.isend, held, (rank + 1) % world)
            receiving = dist.P2POp(dist.irecv, coming, (rank - 1) % world)
            waiting = dist.batch_isend_irecv([sending, receiving])
        K, V = held  # [B, H, L/R, d_k], [B, H, L/R, d_k]
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L/R, L/R]
        m_new = torch.maximum(m, scores.amax(dim=-1, keepdim=True))  # [B, H, L/R, 1]
        shrink, p = torch.exp(m - m_new), torch.exp(scores - m_new)  # [B, H, L/R, 1], [B, H, L/R, L/R]
        s = s * shrink + p.sum(dim=-1, keepdim=True)
        o = o * shrink + torch.matmul(p, V)
        m = m_new
        if not last:
            for work in waiting:
                work.wait()
            held = coming
    return o / s  # [B, H, L/R, d_k]


def whole_attention(Q, K, V):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L, L]
    return torch.matmul(torch.softmax(scores, dim=-1), V)  # [B, H, L, d_k]


class Reverser(nn.Module):
    # 第 7 课的模型：一层自注意力加一层前馈，学会把一串数字倒过来。
    def __init__(self, vocabulary, d_model, seq_len, n_heads=1):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        self.token = nn.Embedding(vocabulary, d_model)
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
        heads = whole_attention(Q, K, V).transpose(1, 2).reshape(x.shape)  # [B, H, L, d_k] → [B, L, D]
        return self.W_o(heads)

    def forward(self, ids):  # ids: [B, L]
        x = self.token(ids) + self.position  # [B, L] → [B, L, D]
        x = x + self.attend(self.norm1(x))  # [B, L, D]
        x = x + self.feed_forward(self.norm2(x))  # [B, L, D]
        return self.head(x)  # [B, L, D] → [B, L, V]


def batch(size, seq_len, vocabulary, generator):
    ids = torch.randint(vocabulary, (size, seq_len), generator=generator)  # [B, L]
    return ids, ids.flip(1)


def train(model, steps, size, seq_len, vocabulary, share, device):
    # share 取出这个进程的那一份样本；所有进程抽的是同一批，各算一份。
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        ids, answer = batch(size, seq_len, vocabulary, generator)  # [B, L], [B, L]
        ids, answer = ids[share].to(device), answer[share].to(device)  # [B/R, L], [B/R, L]
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), answer.flatten())
        optimizer.zero_grad()
        loss.backward()  # DDP 在这里把各进程的梯度平均
        optimizer.step()
    return loss.item()


def start():
    # CPU 上的数据走 gloo，GPU 上的走 NCCL。
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    if dist.is_torchelastic_launched():
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    # 只有每个进程都分得到一块 GPU，才都用 GPU：问一圈，取最小值。
    local = dist.get_node_local_rank(fallback_rank=0)
    enough = torch.tensor(int(torch.cuda.device_count() > local))
    dist.all_reduce(enough, dist.ReduceOp.MIN)
    return torch.device("cuda", local) if enough else torch.device("cpu")


def say(text):
    # 各个进程轮流说，几行字才不会混在一起。
    for speaker in range(dist.get_world_size()):
        if speaker == dist.get_rank():
            print(text, flush=True)
        dist.barrier()


if __name__ == "__main__":
    device = start()
    rank, world = dist.get_rank(), dist.get_world_size()

    batch_size, n_heads, seq_len, d_k = 2, 3, 8 * world, 4
    torch.manual_seed(42)
    Q, K, V = torch.randn(3, batch_size, n_heads, seq_len, d_k, dtype=torch.float64).to(device)  # [B, H, L, d_k]
    mine = slice(8 * rank, 8 * (rank + 1))
    part = ring_attention(Q[..., mine, :], K[..., mine, :], V[..., mine, :])  # [B, H, L/R, d_k]
    difference = (part - whole_attention(Q, K, V)[..., mine, :]).abs().max().item()
    tokens = f"tokens {mine.start} to {mine.stop - 1} of {seq_len}"
    say(f"rank {rank} of {world} on {device}: {tokens}, differs from one process by {difference:.1e}")

    vocabulary, d_model, length, steps, size = 8, 32, 6, 60, 16 * world
    torch.manual_seed(42)
    alone = Reverser(vocabulary, d_model, length).double().to(device)
    train(alone, steps, size, length, vocabulary, slice(None), device)
    torch.manual_seed(42)
    model = Reverser(vocabulary, d_model, length).double().to(device)
    together = nn.parallel.DistributedDataParallel(model)
    loss = train(together, steps, size, length, vocabulary, slice(16 * rank, 16 * (rank + 1)), device)
    pairs = zip(alone.parameters(), model.parameters(), strict=True)
    difference = max((a - b).abs().max().item() for a, b in pairs)
    samples = f"16 of {size} samples a step, loss {loss:.4f}"
    say(f"rank {rank} of {world} on {device}: {samples}, weights differ from one process by {difference:.1e}")
    dist.destroy_process_group()
