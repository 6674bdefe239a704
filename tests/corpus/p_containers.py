# Tensors in tuples, dicts, dataclasses, named tuples; unpacking; named results of topk, max, sort, svd.
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn as nn


class Out(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor | None = None


Pair = namedtuple("Pair", "q k")


@dataclass
class Cache:
    keys: list = field(default_factory=list)
    values: dict = field(default_factory=dict)


class Attention(nn.Module):
    def forward(self, pair: Pair, *, v, cache, mask=None):
        cache.keys.append(pair.k)
        scores = pair.q @ torch.cat(cache.keys, dim=1).mT
        cache.values["all"] = torch.cat([cache.values["all"], v], 1) if cache.values else v
        weights = scores.softmax(-1)
        return Out(weights @ cache.values["all"], weights), {"max": weights.max(-1), "cache": cache}


torch.manual_seed(0)
cache = Cache()
attention = Attention()
for length in (2, 1):
    x = torch.randn(1, length, 4)
    (output, weights), extra = attention(Pair(x, k=x), v=x, cache=cache)
    print(output, weights.shape, extra["max"].indices, type(extra["max"]).__name__)
values, indices = weights.topk(2, dim=-1)
print(values, indices, weights.sort(descending=True)[1], torch.svd(weights).S.shape)
print([type(item).__name__ for item in (weights.shape, weights.unbind(), torch.linalg.qr(weights[0]), weights.split(1))])
print([piece.tolist() for piece in torch.split(torch.arange(5), [2, 3])], *torch.meshgrid(q := torch.arange(2), q, indexing="ij"))
groups = defaultdict(list)
for index, row in enumerate(weights.unbind(-1)):
    groups[index % 2].append(row.sum().item())
print(dict(groups), OrderedDict(a=torch.ones(1)), {torch.float32: 1}, torch.Size([1, 2]) + (3,))
print(cache)
