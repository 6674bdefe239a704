# self-distillation: the teacher is a slow copy of the student and gets no gradient
import copy

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)

    def forward(self, x):
        h = self.norm(x)
        return x + self.attn(h, h, h, need_weights=False)[0]


torch.manual_seed(0)
student = Encoder(12, 3)
teacher = copy.deepcopy(student)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(2, 5, 12)
    with torch.no_grad():
        target = teacher(x)
    loss = (student(x + 0.1 * torch.randn_like(x)) - target.detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(teacher.parameters(), student.parameters()):
            p.mul_(0.99).add_(q, alpha=0.01)
    print(loss.item())
