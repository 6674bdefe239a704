import torch


def attention(q, k, v, keep):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return scores.masked_fill(~keep, float("-inf")).softmax(-1) @ v


# one line for all masks: of a batch by lengths, and of a prompt that is read both ways
torch.manual_seed(36)
q, k, v = (torch.nn.Linear(8, 8)(torch.randn(2, 5, 8)) for _ in range(3))
causal = torch.ones(5, 5, dtype=torch.bool).tril()
for lengths, joined in (([5, 3], torch.logical_and), ([3, 2], torch.logical_or)):
    within = (torch.arange(5) < torch.tensor(lengths)[:, None])[:, None, :]
    print(attention(q, k, v, joined(causal, within)).shape)
