# Imports a module of its own folder, which looks back into __main__; then itself as a second module.
import sys

import lib_heads
import torch
from lib_heads import MultiHead, split

HEADS = 2

print(__name__, lib_heads.__name__, lib_heads.__file__)
if __name__ == "__main__":
    torch.manual_seed(0)
    model = MultiHead(8)
    print(model(torch.randn(1, 4, 8)))
    import p_sibling

    print(p_sibling.HEADS, p_sibling is sys.modules["__main__"], p_sibling.MultiHead is MultiHead)
    try:
        split(torch.randn(1, 4, 9), HEADS)
    finally:
        print("the error shows lines of both files")
