import torch


def scaled_dot_product(q, k, v):
    d = q.shape[-1]
    logits = torch.matmul(q, k.transpose(-2, -1)).div(d)  # expect: ATT012
    attention = logits.softmax(dim=-1)
    return torch.matmul(attention, v), attention


torch.manual_seed(42)
seq_len, d_k = 3, 2
q = torch.randn(seq_len, d_k)
k = torch.randn(seq_len, d_k)
v = torch.randn(seq_len, d_k)
values, attention = scaled_dot_product(q, k, v)
print("Values\n", values)
print("Attention\n", attention)
