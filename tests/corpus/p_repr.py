# Tensors and modules as text: repr, str, format, f-strings, print options, item, tolist.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 3, 4, requires_grad=True)
weights = F.softmax(x @ x.mT, dim=-1)
print(x, weights, weights[0, 0, 0], repr(weights.grad_fn)[:16])
print(f"{weights.shape} {weights.sum():.3f} {weights.mean().item()!r} {x[0, 0].tolist()} {weights.dtype}")
print("{:>12.4f}|{}".format(weights[0, 0, 0], weights.argmax(-1)), "%s %.2f" % (weights.device, weights.max()))
print(str(torch.tensor(3)), int(torch.tensor(3)), float(weights[0, 0, 0]), bool(weights.sum() > 0), torch.tensor(True))
print(torch.tensor([1e-8, 1.0, float("nan"), float("inf")]), torch.empty(0, 3), torch.zeros(2, 0), torch.arange(2000))
torch.set_printoptions(precision=2, sci_mode=True, linewidth=60)
print(weights.detach(), weights.detach().half())
print(nn.Sequential(nn.Linear(4, 4), nn.MultiheadAttention(4, 2), nn.Dropout(0.1)))
print(nn.Parameter(torch.ones(1)), x.grad, torch.Size([2]), torch.finfo(torch.float16), torch.ones(1).requires_grad)
print(len(x), x in [x], hash(x) == id(x), [row.sum().item() > 0 for row in x], 3 in torch.arange(4), *torch.arange(2))
print(weights[..., None, :].shape, weights[:, -1:, ::2].shape, x[torch.tensor([1, 0])].shape, x[x > 1].numel())
if weights.any() and not torch.zeros(1):
    print("yes")
try:
    if weights:
        print("never")
except RuntimeError as error:
    print(error)
