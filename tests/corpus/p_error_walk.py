# What a program can learn from an exception that it caught: the frames of its traceback, its context,
# its arguments, the local variables of the frame that failed.
import sys
import traceback

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def forward(self, q, k):
        local = q.shape[-1]
        return F.softmax(q @ k / local, dim=-1)


def describe(error):
    frames = traceback.extract_tb(error.__traceback__)
    print(type(error).__name__, len(error.args), "cause", error.__cause__, "context", error.__context__)
    print([frame.name for frame in frames], [frame.lineno for frame in frames][:1])
    print("line", frames[-1].line)
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    print("locals", sorted(last.tb_frame.f_locals))


torch.manual_seed(0)
q = torch.randn(2, 4, 8)
for call in (
    lambda: Attention()(q, q),
    lambda: F.softmax(q, dim=5),
    lambda: torch.einsum("ij,jk->ik", q, q),
    lambda: torch.norm(q, dim=9),
    lambda: q.split(0.5),
):
    try:
        call()
    except Exception as error:
        describe(error)
        print("exc_info", sys.exc_info()[1] is error)
print("exc_info", sys.exc_info())
