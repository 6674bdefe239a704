# KeyboardInterrupt, uncaught: Python prints the traceback and dies by SIGINT, so the shell sees 130.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 4, 8)
for step in range(100):
    x = F.softmax(x @ x.transpose(1, 2), dim=-1) @ x
    print("step", step)
    if step == 2:
        raise KeyboardInterrupt
