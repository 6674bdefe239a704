# torch.func: vmap, grad, jvp, functional_call; make_fx and symbolic_trace; fake tensors.
import torch
import torch.fx
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx


def attend(q, k, v):
    return F.softmax(q @ k.T / q.shape[-1] ** 0.5, dim=-1) @ v


torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 3, 4).unbind()
print(vmap(attend)(q, k, v))
print(vmap(vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))(q[0], k[0]))
print(grad(lambda q: attend(q, k[0], v[0]).sum())(q[0]))
print(jvp(lambda q: attend(q, k[0], v[0]), (q[0],), (torch.ones(3, 4),))[1])
linear = nn.Linear(4, 4)
print(functional_call(linear, {"weight": torch.eye(4), "bias": torch.zeros(4)}, (v[0],)))
print(vmap(lambda x: F.dropout(x, 0.5), randomness="different")(q[0]).count_nonzero().item())
print(make_fx(attend)(q[0], k[0], v[0]).code)
print(torch.fx.symbolic_trace(attend).code)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return attend(q, k, v)


print(torch.fx.symbolic_trace(Block()).graph)
print(torch.export.export(Block(), (q[0],)).graph_module.code)
try:
    vmap(attend)(q, k[:1], v)
except ValueError as error:
    print(str(error)[:50])
