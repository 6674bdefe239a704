# The program's own operator: a kernel, a gradient, and what torch.library checks of it.
import torch
import torch.nn.functional as F


@torch.library.custom_op("corpus::attend", mutates_args=())
def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    print("kernel")
    return F.softmax(q @ k.mT, dim=-1) @ v


@attend.register_fake
def _(q, k, v):
    return q.new_empty(*q.shape[:-1], v.shape[-1])


attend.register_autograd(lambda ctx, grad: (grad, None, grad.mT @ torch.ones(3, 4)), setup_context=lambda *args, **kw: None)

torch.manual_seed(0)
q = torch.randn(3, 4, requires_grad=True)
output = attend(q, q.detach(), q.detach())
output.sum().backward()
print(output, q.grad, torch.ops.corpus.attend(q, q, q).shape, type(torch.ops.corpus.attend).__name__)
print(torch.ops.aten.mm(q, q.T).shape, torch.ops.aten.softmax.int(q, -1).shape)
print(attend(torch.empty(2, 3, device="meta"), q, torch.empty(2, 5, device="meta")).shape)
