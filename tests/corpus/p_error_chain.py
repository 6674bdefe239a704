# `raise ... from error` where error is PyTorch's own, uncaught; before it an implicit chain
# ("During handling of the above exception") and `from None`, caught and printed.
import traceback

import torch
import torch.nn.functional as F


def scores(q, k):
    try:
        return F.softmax(q @ k, dim=-1)
    except RuntimeError as error:
        raise ValueError(f"q {tuple(q.shape)} and k {tuple(k.shape)} do not fit") from error


def implicit(q):
    try:
        return F.softmax(q, dim=7)
    except IndexError:
        return q.view(5, 5)


def hidden(q):
    try:
        return torch.cat([q, q[0]])
    except RuntimeError:
        raise TypeError("hidden cause") from None


torch.manual_seed(0)
q, k = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
for attempt in (implicit, hidden):
    try:
        attempt(q)
    except (RuntimeError, TypeError):
        traceback.print_exc()
print(scores(q, k))
