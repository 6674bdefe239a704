import torch
import torch.nn as nn


class PatchEmbed(nn.Module):
    def __init__(self, patch, channels, dim):
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, kernel_size=patch, stride=patch)

    def forward(self, img):
        return self.proj(img).flatten(2).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.heads = heads
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def attend(self, x):
        B, N, D = x.shape
        heads_of = lambda t: t.reshape(B, N, self.heads, D // self.heads).transpose(1, 2)
        q, k, v = heads_of(self.to_q(x)), heads_of(self.to_k(x)), heads_of(self.to_v(x))
        dots = torch.einsum("bhid,bhjd->bhij", q, k).mul((D // self.heads) ** -0.5)
        weights = dots.softmax(-1)
        return torch.einsum("bhij,bhjd->bihd", weights, v).flatten(2)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    """图像 → 图块 → 词元 → 类别"""

    def __init__(self, size, patch, dim, depth, heads, classes):
        super().__init__()
        self.patches = PatchEmbed(patch, 3, dim)
        n = (size[0] // patch) * (size[1] // patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(depth)))
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        x = self.patches(img)
        x = torch.cat((self.cls_token.expand(x.size(0), -1, -1), x), dim=1) + self.pos_embed
        return self.head(self.blocks(x)[:, 0])


torch.manual_seed(40)
vit = ViT(size=(8, 12), patch=4, dim=15, depth=4, heads=5, classes=10)
logits = vit(torch.rand(2, 3, 8, 12))
print(logits.shape, logits.softmax(-1).max().item())
