# The program closes its own stdout.
import sys

import torch

print(torch.ones(2, 2) @ torch.ones(2, 2))
sys.stdout.close()
try:
    print("lost")
except ValueError as error:
    print(error, file=sys.stderr)
