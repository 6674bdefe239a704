# --help after the script is the script's own.
"""Trains nothing."""

import argparse

import torch

parser = argparse.ArgumentParser(description="打印帮助")
parser.add_argument("--seed", type=int, default=0, help="the seed")
args = parser.parse_args()
print(torch.ones(2))
