# Hooks on modules: before and after forward, backward, global ones; they print, change and remove.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.module import register_module_forward_hook


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 4, bias=False) for _ in range(3))

    def forward(self, x, scale=1.0):
        return F.softmax(self.q(x) @ self.k(x).mT * scale, dim=-1) @ self.v(x)


def name(module):
    return type(module).__name__


torch.manual_seed(0)
model = nn.Sequential(Attention(), nn.LayerNorm(4), Attention())
x = torch.randn(1, 3, 4)
handles = [
    model[0].register_forward_pre_hook(lambda m, args: print("pre", name(m), len(args))),
    model[0].q.register_forward_hook(lambda m, args, out: out * 2),
    model[2].register_forward_hook(lambda m, args, kwargs, out: print("kwargs", kwargs), with_kwargs=True),
    model[1].register_full_backward_hook(lambda m, gin, gout: print("backward", gin[0].norm().item())),
    register_module_forward_hook(lambda m, args, out: print("global", name(m), tuple(out.shape))),
]
model(x).sum().backward()
for handle in handles:
    handle.remove()
print(model[0].q.weight.grad)
print([len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()])
print([path for path, _ in model.named_modules()], list(model.state_dict()))
model[0].register_forward_pre_hook(lambda m, args: args[0] @ args[0])
model(x)
