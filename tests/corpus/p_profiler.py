# The profiler counts every operator that runs: nothing may run that the program did not ask for.
import os

os.environ["KINETO_LOG_LEVEL"] = "9"  # its log lines carry the time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)
x = torch.randn(2, 4, 8)
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    weights = F.softmax(x @ x.transpose(1, 2) / 8**0.5, dim=-1)
    output = weights @ x
for row in sorted(prof.key_averages(), key=lambda row: row.key):
    print(row.key, row.count)
print(output.sum())
