# Starts another Python: it is not watched, and its environment is the caller's.
import os
import subprocess
import sys

import torch

CODE = """
import os, sys, torch
print(torch.ones(2, 3) @ torch.ones(3, 2), sys.argv[1:], sorted(os.environ), sys.path[1:] == sys.argv[1].split("|"))
sys.exit(4)
"""

done = subprocess.run([sys.executable, "-c", CODE, "|".join(sys.path[1:])], capture_output=True, text=True)
print(done.stdout == f"{torch.full((2, 2), 3.0)} {[chr(124).join(sys.path[1:])]} {sorted(os.environ)} True\n")
print(done.stderr, done.returncode)
print(subprocess.run([sys.executable, __file__ + ".missing"]).returncode)
