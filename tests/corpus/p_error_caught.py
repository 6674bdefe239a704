# Shape errors of many kinds, each caught and its whole traceback printed: some functions are Python
# (F.softmax, einsum, nn.Linear), some C++ (view, cat, bmm, @, indexing, broadcasting).
import logging
import sys
import traceback

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(filename)s:%(lineno)d %(funcName)s %(message)s")

torch.manual_seed(0)
q = torch.randn(2, 4, 8)
linear = nn.Linear(9, 8)
norm = nn.LayerNorm(16)
embedding = nn.Embedding(10, 8)
mha = nn.MultiheadAttention(8, 2, batch_first=True)

cases = {
    "softmax": lambda: F.softmax(q, dim=3),
    "Tensor.softmax": lambda: q.softmax(3),
    "einsum": lambda: torch.einsum("bid,bjd->bij", q, q[..., :5]),
    "einsum letters": lambda: torch.einsum("bid,bj->bij", q, q),
    "linear": lambda: linear(q),
    "layer norm": lambda: norm(q),
    "embedding": lambda: embedding(torch.tensor([3, 11])),
    "cross entropy": lambda: F.cross_entropy(q[0], torch.tensor([1, 2, 3])),
    "sdpa": lambda: F.scaled_dot_product_attention(q, q[..., :4], q),
    "mha": lambda: mha(q, q, q[..., :4]),
    "view": lambda: q.view(2, 3, 8),
    "transposed view": lambda: q.transpose(1, 2).view(2, 32),
    "cat": lambda: torch.cat([q, q[:, :, :5]], dim=1),
    "stack": lambda: torch.stack([q, q[0]]),
    "bmm": lambda: torch.bmm(q, q),
    "broadcast": lambda: q + torch.randn(3),
    "masked_fill": lambda: q.masked_fill(torch.ones(5, 5, dtype=torch.bool), 0.0),
    "index": lambda: q[:, 9],
    "bool": lambda: bool(q),
    "item": lambda: q.item(),
    "dtype": lambda: q @ q.transpose(1, 2).double(),
    "type": lambda: q.transpose("a", "b"),
    "attribute": lambda: q.heads,
    "in place on leaf": lambda: linear.weight.add_(1),
    "grad": lambda: q.sum().backward(),
    "split": lambda: q.split([3, 4], dim=-1),
}

for name, case in cases.items():
    print("==", name)
    try:
        case()
    except Exception:
        print(traceback.format_exc())

try:
    scores = q @ q
except RuntimeError:
    traceback.print_exc()
    logging.exception("scores failed")
print("still alive")
