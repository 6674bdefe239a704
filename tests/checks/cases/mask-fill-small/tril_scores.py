import torch

torch.manual_seed(5)
seq_len, d = 4, 8
x = torch.randn(2, seq_len, d)
q, k, v = torch.nn.Linear(d, 3 * d)(x).chunk(3, dim=-1)
wei = q @ k.transpose(-2, -1) * d**-0.5
wei = torch.tril(wei)  # expect: ATT055
wei = torch.softmax(wei, dim=-1)
print(wei[0], (wei @ v).shape)
