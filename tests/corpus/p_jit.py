# torch.jit: a scripted function, a scripted module, a traced one; saved and loaded.
import io

import torch
import torch.nn as nn
import torch.nn.functional as F


@torch.jit.script
def attend(q, k, v, causal: bool = False):
    scores = q @ k.transpose(-2, -1) / float(q.size(-1)) ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
    return F.softmax(scores, dim=-1) @ v


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ v


torch.manual_seed(0)
x = torch.randn(1, 3, 4)
model = Attention()
print(attend(x, x, x), attend(x, x, x, True))
traced = torch.jit.trace(model, x)
scripted = torch.jit.script(model)
print(torch.equal(traced(x), model(x)), torch.equal(scripted(x), model(x)))
print(traced.code)
print(scripted.code)
buffer = io.BytesIO()
torch.jit.save(scripted, buffer)
buffer.seek(0)
print(torch.jit.load(buffer)(x))
try:
    attend(x, x[..., :2], x)
except RuntimeError as error:
    print(str(error).splitlines()[-1])
