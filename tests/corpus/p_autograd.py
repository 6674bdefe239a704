# A custom autograd.Function, double backward, hooks on tensors, saved-tensor hooks, jacobians.
import torch
import torch.nn.functional as F


class ScaledSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, scale):
        weights = F.softmax(scores * scale, dim=-1)
        ctx.save_for_backward(weights)
        ctx.scale = scale
        print("forward", scores.requires_grad, weights.requires_grad)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        print("backward", grad.shape, ctx.needs_input_grad)
        return ctx.scale * weights * (grad - (grad * weights).sum(-1, keepdim=True)), None


torch.manual_seed(0)
x = torch.randn(1, 3, 4, requires_grad=True)
x.register_hook(lambda grad: print("hook", grad.norm().item()))
weights = ScaledSoftmax.apply(x @ x.transpose(1, 2), 0.5)
output = weights @ x
output.sum().backward()
print(x.grad, output.grad_fn.next_functions[0][0].name(), type(weights.grad_fn).__name__)

packed = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(tuple(t.shape)) or t, lambda t: t):
    loss = (F.softmax(x @ x.mT, dim=-1) @ x).pow(2).sum()
print(packed)
(first,) = torch.autograd.grad(loss, x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
print(first, second)
print(torch.autograd.functional.jacobian(lambda t: F.softmax(t, dim=-1), torch.arange(3.0)))
print(torch.autograd.gradcheck(lambda t: ScaledSoftmax.apply(t, 2.0), torch.ones(1, 2, 2).double().requires_grad_()))
