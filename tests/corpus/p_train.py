# A training loop: AdamW, a schedule, clipping, dropout; losses, gradients and weights in full.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_printoptions(precision=10)


class Attention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / x.shape[-1] ** 0.5
        return self.drop(F.softmax(scores, dim=-1)) @ v


x = torch.randn(2, 4, 8)
model = Attention(8)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
for step in range(20):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), x)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    schedule.step()
    print(step, repr(loss.item()), repr(norm.item()), schedule.get_last_lr())
print(model.k.weight.grad)
print(model.q.weight)
print(optimizer.state[model.v.weight])
print([(repr(group["lr"]), len(group["params"])) for group in optimizer.param_groups])
