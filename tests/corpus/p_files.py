# The working directory is the caller's: files are written and read relative to it; data beside the
# script is found by __file__.
import os
import pathlib

import torch

print(os.getcwd() == str(pathlib.Path.cwd()), sorted(os.listdir()))
pathlib.Path("x.txt").write_text("1 2 3\n4 5 6\n", encoding="utf-8")
with open("x.txt", encoding="utf-8") as file:
    x = torch.tensor([[float(cell) for cell in line.split()] for line in file])
print((x @ x.T).softmax(-1) @ x)
os.mkdir("sub")
os.chdir("sub")
torch.save(x, "x.pt")
print(sorted(os.listdir()), sorted(os.listdir("..")))
print(pathlib.Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
print(sorted(name for name in os.environ))
