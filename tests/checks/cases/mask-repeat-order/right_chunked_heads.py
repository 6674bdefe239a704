import torch

torch.manual_seed(2)
B, L, D, H = 2, 5, 12, 3
ids = torch.tensor([[4, 2, 8, 5, 3], [7, 9, 6, 0, 0]])
x = torch.nn.Embedding(10, D)(ids)
q, k, v = (torch.nn.Linear(D, D)(x) for _ in range(3))
q_, k_, v_ = (torch.cat(t.chunk(H, dim=2), dim=0) for t in (q, k, v))
scores = q_ @ k_.transpose(1, 2) / (D // H) ** 0.5
pad = (ids == 0).unsqueeze(1)
pad = pad.repeat(H, 1, 1)
weights = scores.masked_fill(pad, -(2.0**32) + 1).softmax(-1)
out = torch.cat((weights @ v_).chunk(H, dim=0), dim=2)
print(out.shape, out[1, 0])
