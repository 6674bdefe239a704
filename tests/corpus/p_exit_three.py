# sys.exit(3) in the middle, through a `finally`, after one that was caught.
import sys

import torch
import torch.nn.functional as F


def main():
    q = torch.randn(1, 4, 8)
    try:
        sys.exit(9)
    except SystemExit as stop:
        print("caught", stop.code)
    try:
        weights = F.softmax(q @ q.transpose(-2, -1) / 8**0.5, dim=-1)
        print(weights.sum(-1))
        sys.exit(3)
    finally:
        print("finally")
    return weights


if __name__ == "__main__":
    torch.manual_seed(0)
    sys.exit(main())
