# no_grad, inference_mode, autocast and set_grad_enabled, as contexts and as decorators.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = F.softmax(q @ k.transpose(-2, -1) * 8**-0.5, dim=-1)
        print(q.dtype, weights.dtype, weights.requires_grad, weights.is_inference(), type(weights.grad_fn).__name__)
        return weights @ v


@torch.no_grad()
def evaluate(model, x):
    return model(x)


@torch.inference_mode()
def infer(model, x):
    return model(x)


torch.manual_seed(0)
x = torch.randn(2, 4, 8)
model = Attention()
print(model(x))
print(evaluate(model, x))
y = infer(model, x)
print(y, torch.is_inference_mode_enabled())
try:
    y.add_(1)
except RuntimeError as error:
    print(str(error).splitlines()[0])
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(model(x).sum(), torch.is_autocast_enabled("cpu"))
    with torch.set_grad_enabled(False):
        print(model(x).sum())
print(torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"))
torch.set_grad_enabled(False)
print(model(x).requires_grad)
