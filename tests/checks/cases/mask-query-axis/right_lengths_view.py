import torch


def length_mask(lengths, size):
    return torch.arange(size).expand(len(lengths), size) >= lengths.unsqueeze(1)


def attend(q, k, v, lengths):
    b, h, n, d = q.shape
    blocked = length_mask(lengths, n)
    logits = torch.matmul(q, k.mT) / d**0.5
    logits.masked_fill_(blocked.view(b, 1, 1, n), -1e9)
    return torch.matmul(logits.softmax(dim=-1), v)


torch.manual_seed(5)
q, k, v = (torch.randn(2, 3, 5, 4) for _ in "qkv")
print(attend(q, k, v, torch.tensor([3, 5]))[0, 0])
