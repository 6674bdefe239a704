import torch

torch.manual_seed(43)

n_batch, n_query, n_key, size = 2, 3, 5, 8

query = torch.randn(n_batch, n_query, size)
key = torch.randn(n_batch, n_key, size)
value = torch.randn(n_batch, n_key, 4)

# no matrix product: every pair is laid out, multiplied and summed
pairs = query.unsqueeze(2) * key.unsqueeze(1)      # [B, Q, K, D]
logits = pairs.sum(-1)
logits = logits / size ** 0.5
w = logits.softmax(dim=-1)
mixed = (w.unsqueeze(-1) * value.unsqueeze(1)).sum(dim=2)

print(pairs.shape, logits.shape, mixed.shape)
print(torch.allclose(mixed, torch.nn.functional.scaled_dot_product_attention(query, key, value), atol=1e-6))
