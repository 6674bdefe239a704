# In-place operations, views, out=, identity of results, version counters and attributes on tensors.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 4, 8)
scores = x @ x.transpose(1, 2)
same = scores.div_(8**0.5)
print(same is scores, scores._version)
scores += torch.ones(4)
scores[:, :, 1:].masked_fill_(torch.ones(4, 3, dtype=torch.bool).triu(), float("-inf"))
scores.mul_(2).add_(1)
print(scores._version, scores.is_contiguous(), x.transpose(1, 2).stride())
weights = torch.empty(2, 4, 4)
print(torch.softmax(scores, -1, out=weights) is weights, weights.is_inference())
output = torch.zeros(2, 4, 8)
print(torch.matmul(weights, x, out=output) is output, output)
print(F.relu_(output) is output, F.relu(output, inplace=True) is output, output._version)
print(F.dropout(output, training=False) is output, output.contiguous() is output, output.to(torch.float32) is output)
view = output.view(8, 8)[2:4]
view.zero_()
print(view._base is output, output[0, 2:].sum().item(), view.storage_offset())
output[0, 0] = 7
output[output > 6] = -1
output.T if output.dim() == 2 else output.mT.copy_(torch.arange(4.0))
print(output, len(output), [row.shape for row in output])
output.note = "mine"
print(output.note, output.detach().__dict__, vars(output))
leaf = torch.ones(3, requires_grad=True)
leaf.data += 1
leaf.grad = torch.zeros(3)
print(leaf, leaf.grad, leaf.is_leaf, leaf._version, leaf.data is leaf)
q, k = torch.ones(2), torch.ones(2)
q, k = k, q
k @= torch.eye(2)
q **= 2
q //= 1
q, *rest = torch.arange(6).view(3, 2)
print(q, k, rest)
x.resize_(1)
print(x.shape, x.set_(torch.zeros(2)) is x, x)
