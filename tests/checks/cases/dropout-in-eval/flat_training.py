import torch
import torch.nn.functional as F

torch.manual_seed(0)
B, L, D = 2, 5, 8
Wq, Wk, Wv = (torch.randn(D, D, requires_grad=True) for _ in range(3))
x, target = torch.randn(B, L, D), torch.randn(B, L, D)


def forward(x, train):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    w = torch.softmax(q @ k.transpose(-2, -1) / D**0.5, dim=-1)
    w = F.dropout(w, p=0.1, training=True)  # expect: ATT101
    return w @ v


for _ in range(2):
    loss = F.mse_loss(forward(x, train=True), target)
    loss.backward()
    with torch.no_grad():
        for p in (Wq, Wk, Wv):
            p -= 0.01 * p.grad
            p.grad = None
print("val:", F.mse_loss(forward(x, train=False), target).item())
