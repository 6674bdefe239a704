# Processes by spawn (which imports this file again as __mp_main__) and by fork.
import multiprocessing as mp
import sys

import torch
import torch.nn.functional as F

print("module", __name__, sys.argv[1:], flush=True)


def attend(seed):
    torch.manual_seed(seed)
    q = torch.randn(3, 4)
    return F.softmax(q @ q.T / 2, dim=-1).sum(0).tolist()


def fail(seed):
    return torch.ones(seed) @ torch.ones(seed + 1)


if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with mp.get_context(method).Pool(1) as pool:
            print(method, pool.map(attend, [1, 2]))
            try:
                pool.apply(fail, (3,))
            except RuntimeError as error:
                print(error)
                print(type(error.__cause__).__name__, str(error.__cause__).count("line"))
    print("here", attend(1))
