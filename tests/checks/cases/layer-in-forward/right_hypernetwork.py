import torch
import torch.nn as nn


class HyperAttention(nn.Module):
    """The query's matrix is made from the task, in forward, by a layer that learns."""

    def __init__(self, d, d_task):
        super().__init__()
        self.d = d
        self.make_q = nn.Linear(d_task, d * d)
        self.k, self.v = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, task):
        w_q = self.make_q(task).view(-1, self.d, self.d)
        q = torch.bmm(x, w_q)
        w = torch.softmax(torch.bmm(q, self.k(x).transpose(1, 2)) / self.d ** 0.5, dim=-1)
        return torch.bmm(w, self.v(x))


torch.manual_seed(0)
print(HyperAttention(6, 3)(torch.randn(2, 5, 6), torch.randn(2, 3)).shape)
