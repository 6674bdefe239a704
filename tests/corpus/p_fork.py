# A forked child computes and ends as a script does, with handlers and exit code; the parent goes on.
import atexit
import os
import sys

import torch
import torch.nn.functional as F

atexit.register(lambda: print("handler in", who))

torch.manual_seed(0)
who = "parent"
q = torch.randn(1, 3, 4)
print("before", F.softmax(q @ q.transpose(1, 2), dim=-1).sum().item(), flush=True)

if (child := os.fork()) == 0:
    who = "child"
    print("child", torch.rand(1).item(), (q @ q.transpose(1, 2)).sum().item())
    sys.exit(7)
status = os.waitpid(child, 0)[1]
del child
print("child ended with", os.waitstatus_to_exitcode(status))
print("parent", torch.rand(1).item())
