# argparse ends the program with 2 and writes the usage on stderr.
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--heads", type=int, required=True)
args = parser.parse_args()
print(torch.ones(args.heads))
