import torch


def attention(q, k, v, keep):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return scores.masked_fill(~keep, float("-inf")).softmax(-1) @ v


# one line for all masks: the first is right, the second is not
torch.manual_seed(36)
q, k, v = (torch.nn.Linear(8, 8)(torch.randn(2, 5, 8)) for _ in range(3))
padding = (torch.arange(5) < torch.tensor([5, 3])[:, None])[:, None, :]
causal = torch.ones(5, 5, dtype=torch.bool).tril()
print(attention(q, k, v, padding & causal).shape)
print(attention(q, k, v, padding | causal).shape)  # expect: ATT059
