# argparse with options that look like those of the tool that runs it.
import argparse
import sys

import torch

parser = argparse.ArgumentParser()
parser.add_argument("-o", "--output", default="out.txt")
parser.add_argument("--lang", choices=["fr", "de"])
parser.add_argument("--layer", type=int, action="append")
parser.add_argument("--json", action="store_true")
parser.add_argument("--all", action="store_true")
parser.add_argument("-m", dest="model")
parser.add_argument("rest", nargs="*")

print(sys.argv[1:])
args = parser.parse_args()
print(args)
print(torch.ones(args.layer) @ torch.ones(args.layer[-1]))
