import torch
from torch import nn


def scaled_dot_product(queries, keys, values, mask=None):
    d = queries.shape[-1]
    scores = torch.bmm(queries, keys.permute(0, 2, 1)) / (d ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = nn.functional.softmax(scores, dim=-1)
    return torch.bmm(weights, values), weights


def main():
    torch.manual_seed(7)
    B, L, D, d = 4, 4, 11, 6      # as many samples as tokens, on purpose
    x = torch.randn((B, L, D))
    to_q = nn.Linear(D, d)
    to_k = nn.Linear(D, d)
    to_v = nn.Linear(D, d)
    with torch.no_grad():
        context, w = scaled_dot_product(to_q(x), to_k(x), to_v(x))
    print(context.shape, w.shape)
    print(w[0])


if __name__ == "__main__":
    main()
