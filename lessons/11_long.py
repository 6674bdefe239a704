# 第 11 课：长序列。
#
# L×L 的表是注意力最贵的地方：L = 16384 时，一个头就是 1 GiB。可是我们要的不是表，
# 只是它乘 V 的结果。把 K、V 切成块，一块一块地看，边看边把 softmax 算对：
#
#     每行记三样：见过的最大分数 m，分母 s = Σ e^(分数 - m)，分子 o = Σ e^(分数 - m)·v
#     来了新的一块，最大值变成 m'，旧的 s、o 都乘 e^(m - m')，再加上新的
#     看完所有块，输出 = o / s
#
# 没有任何近似，内存却从 O(L²) 降到 O(L)。反向传播时也不存表，用 m 和 s 把每块重算一遍。

import math

import torch
from torch.utils.benchmark import timer


class BlockAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, Q, K, V, size):  # Q: [..., L_q, d_k], K: [..., L_k, d_k], V: [..., L_k, d_v]
        scale = 1.0 / math.sqrt(Q.size(-1))
        output = Q.new_empty(*Q.shape[:-1], V.size(-1))  # [..., L_q, d_v]
        log_sum = Q.new_empty(*Q.shape[:-1], 1)  # [..., L_q, 1]，即 m + ln s
        for i in range(0, Q.size(-2), size):
            q = Q[..., i : i + size, :]  # [..., b, d_k]
            m = torch.full_like(q[..., :1], float("-inf"))  # [..., b, 1]
            s = torch.zeros_like(m)  # [..., b, 1]
            o = torch.zeros_like(output[..., i : i + size, :])  # [..., b, d_v]
            for j in range(0, K.size(-2), size):
                scores = torch.matmul(q, K[..., j : j + size, :].transpose(-2, -1)) * scale  # [..., b, b]
                m_new = torch.maximum(m, scores.amax(dim=-1, keepdim=True))  # [..., b, 1]
                # 旧的 s 和 o 以旧的最大值为基准，换到新的上来。
                shrink = torch.exp(m - m_new)  # [..., b, 1]
                p = torch.exp(scores - m_new)  # [..., b, b]
                s = s * shrink + p.sum(dim=-1, keepdim=True)
                o = o * shrink + torch.matmul(p, V[..., j : j + size, :])
                m = m_new
            output[..., i : i + size, :] = o / s
            log_sum[..., i : i + size, :] = m + torch.log(s)
        ctx.save_for_backward(Q, K, V, output, log_sum)
        ctx.size, ctx.scale = size, scale
        return output

    @staticmethod
    def backward(ctx, grad):  # grad: [..., L_q, d_v]
        Q, K, V, output, log_sum = ctx.saved_tensors
        dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
        # softmax 的导数里，每行有一个公共的数：Σ_j P_ij dP_ij = Σ 输出·输出的梯度。
        common = (grad * output).sum(dim=-1, keepdim=True)  # [..., L_q, 1]
        for i in range(0, Q.size(-2), ctx.size):
            rows = slice(i, i + ctx.size)
            q, g = Q[..., rows, :], grad[..., rows, :]  # [..., b, d_k], [..., b, d_v]
            for j in range(0, K.size(-2), ctx.size):
                keys = slice(j, j + ctx.size)
                scores = torch.matmul(q, K[..., keys, :].transpose(-2, -1)) * ctx.scale  # [..., b, b]
                p = torch.exp(scores - log_sum[..., rows, :])  # [..., b, b]，这一块的权重，重算出来
                dV[..., keys, :] += torch.matmul(p.transpose(-2, -1), g)
                dp = torch.matmul(g, V[..., keys, :].transpose(-2, -1))  # [..., b, b]
                ds = p * (dp - common[..., rows, :]) * ctx.scale  # [..., b, b]
                dQ[..., rows, :] += torch.matmul(ds, K[..., keys, :])
                dK[..., keys, :] += torch.matmul(ds.transpose(-2, -1), q)
        return dQ, dK, dV, None


def attention_in_blocks(Q, K, V, size=512):
    return BlockAttention.apply(Q, K, V, size)  # [..., L_q, d_v]


def attention(Q, K, V):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [..., L_q, L_k]
    return torch.matmul(torch.softmax(scores, dim=-1), V)  # [..., L_q, d_v]


def peak_memory(way, *inputs):
    # 把途中每次申请和释放的字节数按先后加起来，最高的那一点，就是最多的时候多占了多少。
    with torch.profiler.profile(profile_memory=True) as profile:
        way(*inputs)
    now = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak


if __name__ == "__main__":
    d_k = 64

    torch.manual_seed(42)
    inputs = torch.randn(3, 1, 1, 1000, d_k, dtype=torch.float64, requires_grad=True).unbind()  # 三个 [B, H, L, d_k]
    results = []
    for way in (attention, attention_in_blocks):
        output = way(*inputs)  # [B, H, L, d_k]
        results.append((output, *torch.autograd.grad(output.sin().sum(), inputs)))
    worst = max((a - b).abs().max().item() for a, b in zip(*results, strict=True))
    print(f"L = 1000, output and gradients, in blocks against whole: largest difference {worst:.1e}")

    lines = []
    for seq_len in (1024, 4096, 16384):
        Q, K, V = torch.randn(3, 1, 1, seq_len, d_k)  # [B, H, L, d_k]
        for name, way in (
            ("whole", attention),
            ("in blocks", attention_in_blocks),
            ("SDPA", torch.nn.functional.scaled_dot_product_attention),
        ):
            peak = peak_memory(way, Q, K, V)
            start = timer()
            way(Q, K, V)
            time = timer() - start
            lines.append(f"{seq_len:6}   {name:9} {1000 * time:9.0f}   {peak / 2**20:8.1f}")
    print("     L   way              ms   peak MiB", *lines, sep="\n")
