# What is left in the buffer cannot be written at exit: Python says so and ends with 120.
import os

import torch

print("flushed", torch.ones(2) @ torch.ones(2), flush=True)
os.close(1)
print("lost")
