# keys in two chunks, merged by their log-sum-exp
import torch

torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 6, 4) for _ in range(3))


def part(q, k, v):
    s = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
    return torch.softmax(s, dim=-1) @ v, torch.logsumexp(s, dim=-1, keepdim=True)


o1, l1 = part(q, k[..., :3, :], v[..., :3, :])
o2, l2 = part(q, k[..., 3:, :], v[..., 3:, :])
lse = torch.logaddexp(l1, l2)
out = torch.exp(l1 - lse) * o1 + torch.exp(l2 - lse) * o2
print(torch.allclose(out, torch.nn.functional.scaled_dot_product_attention(q, k, v), atol=1e-6))
