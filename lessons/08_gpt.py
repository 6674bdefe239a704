# 第 8 课：只有解码器的语言模型（GPT）。
#
# 去掉编码器，只留因果自注意力：每个位置都猜下一个字，一篇文章就是成百上千道题。
# 猜好了下一个字，接在后面再猜，就能一直写下去。
#
#     训练：输入 x_0 … x_{L-1}，答案 x_1 … x_L，每个位置的交叉熵取平均
#     生成：logits / temperature，只留最大的 top_k 个，softmax，按概率抽一个

import math

import torch
import torch.nn as nn

# 几首唐诗，作者都去世一千多年了，属于公有领域。
TEXT = """床前明月光，疑是地上霜。举头望明月，低头思故乡。
春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。
白日依山尽，黄河入海流。欲穷千里目，更上一层楼。
红豆生南国，春来发几枝。愿君多采撷，此物最相思。
千山鸟飞绝，万径人踪灭。孤舟蓑笠翁，独钓寒江雪。
空山不见人，但闻人语响。返景入深林，复照青苔上。
锄禾日当午，汗滴禾下土。谁知盘中餐，粒粒皆辛苦。
松下问童子，言师采药去。只在此山中，云深不知处。
"""


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        # 三个投影并成一个大矩阵，一次乘完再切成三份。
        self.W_qkv = nn.Linear(d_model, 3 * d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)  # [B, L, D] → [B, H, L, d_k]

    def forward(self, x):  # x: [B, L, D]
        L = x.size(1)
        # 三份是并排放在特征里的，所以沿最后一维切。
        Q, K, V = map(self.split, self.W_qkv(x).chunk(3, dim=-1))  # [B, L, 3D] → 三个 [B, H, L, d_k]
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L, L]
        # 不许看后面：第 i 个位置要猜的正是第 i+1 个字，看见了就是抄答案。
        keep = torch.ones(L, L, dtype=torch.bool).tril()  # [L, L]，True 表示可以看
        scores = scores.masked_fill(~keep, float("-inf"))  # [B, H, L, L]
        heads = torch.matmul(torch.softmax(scores, dim=-1), V)  # [B, H, L, d_k]
        return self.W_o(heads.transpose(1, 2).reshape(x.shape))  # [B, H, L, d_k] → [B, L, D]


class Block(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = CausalSelfAttention(d_model, n_heads)
        self.up, self.down = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))  # [B, L, D]
        hidden = nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh")  # [B, L, 4D]
        return x + self.down(hidden)  # [B, L, D]


class GPT(nn.Module):
    def __init__(self, vocabulary, context, d_model, n_heads, n_layers):
        super().__init__()
        self.context = context
        self.token = nn.Embedding(vocabulary, d_model)
        self.position = nn.Embedding(context, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)
        # 初值小，开始时每个字的概率就差不多。
        for table in (self.token, self.position):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids):  # ids: [B, L]
        L = ids.size(1)
        if ids.size(1) > self.context:
            raise ValueError(f"{L} tokens do not fit into a context of {self.context}: pass the last {self.context}")
        x = self.token(ids) + self.position(torch.arange(L))  # [B, L] → [B, L, D]
        for block in self.blocks:
            x = block(x)  # [B, L, D]
        # 认字与查字用同一张表：最后的向量像哪个字的向量，就猜哪个字。
        return self.norm(x) @ self.token.weight.T  # [B, L, D] · [D, V] → [B, L, V]

    @torch.no_grad()
    def generate(self, ids, count, temperature=1.0, top_k=None, generator=None):
        for _ in range(count):
            logits = self(ids[:, -self.context :])[:, -1]  # 只要最后一个位置的预测：[B, V]
            # 温度低，大的更大，写得稳；温度高，大家差不多，写得野。
            logits = logits / temperature
            if top_k is not None:
                smallest = logits.topk(top_k).values[:, -1:]  # [B, 1]
                logits = logits.masked_fill(logits < smallest, float("-inf"))
            probabilities = torch.softmax(logits, dim=-1)  # [B, V]
            following = torch.multinomial(probabilities, 1, generator=generator)  # [B, 1]
            ids = torch.cat((ids, following), dim=1)  # [B, L] → [B, L + 1]
        return ids


def batch(data, size, context, generator):
    if len(data) <= context:
        raise ValueError(f"the text has {len(data)} tokens, and the context of {context} needs one more than that")
    start = torch.randint(len(data) - context, (size, 1), generator=generator)  # [B, 1]
    index = start + torch.arange(context + 1)  # [B, L + 1]
    piece = data[index]  # [B, L + 1]
    # 答案就是输入往后挪一格。
    return piece[:, :-1], piece[:, 1:]  # [B, L], [B, L]


if __name__ == "__main__":
    context = 24
    d_model = 64
    n_heads = 4
    n_layers = 2
    steps = 120

    letters = sorted(set(TEXT))
    number = {letter: i for i, letter in enumerate(letters)}
    data = torch.tensor([number[letter] for letter in TEXT])  # [N]
    print(f"{len(data)} characters, {len(letters)} different ones")

    torch.manual_seed(42)
    generator = torch.Generator().manual_seed(0)
    model = GPT(len(letters), context, d_model, n_heads, n_layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(1, steps + 1):
        given, wanted = batch(data, 16, context, generator)
        loss = nn.functional.cross_entropy(model(given).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 5) == 0:
            print(f"step {step:4}   loss {loss.item():.4f}   guessing evenly: {math.log(len(letters)):.4f}")

    start = torch.tensor([[number[letter] for letter in "春"]])
    for temperature, top_k in ((0.5, None), (1.0, 5), (3.0, None)):
        ids = model.generate(start, 23, temperature, top_k, generator)
        written = "".join(letters[i] for i in ids[0].tolist()).replace("\n", "/")
        print(f"temperature {temperature}, top_k {top_k}: {written}")
