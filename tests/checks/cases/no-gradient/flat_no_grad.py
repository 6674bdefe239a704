import torch

torch.manual_seed(0)
B, L, D = 2, 5, 12
x, target = torch.randn(B, L, D), torch.randn(B, L, D)
W_q = torch.randn(D, D, requires_grad=True)
W_k = torch.randn(D, D, requires_grad=True)
W_v = torch.randn(D, D, requires_grad=True)
opt = torch.optim.SGD([W_q, W_k, W_v], lr=0.01)

for step in range(3):
    Q = x @ W_q
    K = (x @ W_k).detach()  # expect: ATT113
    V = x @ W_v
    out = torch.softmax(Q @ K.transpose(-2, -1) / D**0.5, dim=-1) @ V
    loss = (out - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
