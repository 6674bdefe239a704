"""exp of log_softmax is one softmax; a softmax of log_softmax too."""
import torch
import torch.nn.functional as F

torch.manual_seed(44)
x = torch.randn(2, 5, 8)
q, k, v = torch.nn.Linear(8, 24)(x).chunk(3, -1)
logp = F.log_softmax(q @ k.mT / 8 ** 0.5, dim=-1)
a, b = logp.exp(), F.softmax(logp, dim=-1)
print(torch.allclose(a @ v, b @ v, atol=1e-6))
