# Signals: a handler of the user's that runs between two operations, then a death by SIGTERM.
import os
import signal

import torch

count = 0


def handler(number, frame):
    global count
    count += 1
    print("signal", signal.Signals(number).name, "in", frame.f_code.co_name, torch.full((2,), count).sum().item())


signal.signal(signal.SIGUSR1, handler)
print("default", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
x = torch.ones(2, 2)
for _ in range(3):
    os.kill(os.getpid(), signal.SIGUSR1)
    x = x @ x
print(x, flush=True)
os.kill(os.getpid(), signal.SIGTERM)
