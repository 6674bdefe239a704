import torch
import torch.nn as nn

torch.manual_seed(4)
d_model, n_heads = 12, 2
head = d_model // n_heads
x = torch.randn(2, 4, d_model)
wq, wk, wv = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
q, k, v = wq(x), wk(x), wv(x)
outs = []
for h in range(n_heads):
    qh = q.narrow(-1, h * head, head)
    kh = k.narrow(-1, h * head, head)
    vh = v.narrow(-1, h * head, head)
    outs.append(torch.softmax(qh @ kh.mT / head ** 0.5, dim=-1) @ vh)
print(torch.cat(outs, dim=-1).shape)
