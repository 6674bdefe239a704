"""What the summary of attention over long sequences costs, beside SDPA's output alone and the whole matrix.

One head of size 64 in float32, and the shape of SmolLM2. `python bench/map.py` takes some minutes on two cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from measure import Work, ratios, seconds, table
from recording import resident

from attnlab.maps.data import Products
from attnlab.maps.streaming import summarise

SIZE = 64
# By length: the bar, the bar where it is causal, and how many turns.
BARS = {8192: (1.8, None, 7), 16384: (1.5, 1.5, 5), 32768: (1.5, 1.5, 3), 65536: (1.6, 1.5, 2)}
# By length: the most memory beside q, k and v, in MiB.
MEMORY = {65536: 64, 131072: 128}


def drawn(length: int, heads: int = 1, key_heads: int = 1) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    q = torch.randn(1, heads, length, SIZE)
    k, v = (torch.randn(1, key_heads, length, SIZE) for _ in "kv")
    return q, k, v


def naive(q: torch.Tensor, k: torch.Tensor, causal: bool) -> None:
    """The same numbers from the whole matrix, with PyTorch's own operations for each."""
    weights = q @ k.mT * SIZE**-0.5
    if causal:
        weights.masked_fill_(torch.ones(weights.shape[-2:], dtype=torch.bool).triu_(1), -torch.inf)
    weights = weights.softmax(-1)
    weights.topk(8)
    torch.special.entr(weights).sum(-1)
    side = max(1, weights.shape[-1] // 512)
    F.avg_pool2d(weights, side)
    F.max_pool2d(weights, side)
    weights.tril().triu_(-63).sum(-1)


def works(length: int, causal: bool, heads: int = 1, key_heads: int = 1) -> tuple[Work, dict[str, Work]]:
    q, k, v = drawn(length, heads, key_heads)
    source = Products(q, k, SIZE**-0.5, causal=0 if causal else None)

    def sdpa() -> object:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads > key_heads)

    others: dict[str, Work] = {"summarise": lambda: summarise(source)}
    # It holds the matrix and what it makes of it.
    if heads == 1 and 6 * 4 * length**2 < free():
        others["naive"] = lambda: naive(q, k, causal)
    return sdpa, others


def free() -> int:
    """Bytes of memory that are free."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def times(causal: bool) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    for length, (bar, causal_bar, rounds) in BARS.items():
        plain, others = works(length, causal)
        slow = {"naive": others.pop("naive")} if "naive" in others else {}
        found = ratios(plain, others, rounds) | ratios(plain, slow, 1)
        held = causal_bar if causal else bar
        peer = f"naive: {found['naive']:.1f} x" if slow else "naive: not in this memory"
        rows.append((f"{length:,} tokens", f"{found['summarise']:.2f} x", f"bar: {held or '-'}   {peer}"))
    return rows


def memory() -> list[tuple[str, str, str]]:
    """What a process of its own takes at most while it summarises, beyond what it has before."""
    rows: list[tuple[str, str, str]] = []
    for length, bar in MEMORY.items():
        for causal in (False, True):
            command = [sys.executable, __file__, str(length), str(int(causal))]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            grew, took = map(float, done.stdout.split())
            name = f"{length:,} tokens{', causal' if causal else ''}"
            matrix = f"in {took:.0f} s; the matrix: {4 * length**2 / 2**30:.0f} GiB"
            rows.append((name, f"{grew:.0f} MiB", f"bar: {bar}   {matrix}"))
    return rows


def grown(length: int, causal: bool) -> tuple[float, float]:
    """What `memory` asks of this process, and the seconds. Linux keeps the peak, and forgets it when it is told to."""
    _, others = works(length, causal)
    summarise(Products(*drawn(2048)[:2], SIZE**-0.5))  # what is loaded when it is first used
    Path("/proc/self/clear_refs").write_text("5")
    before = resident()
    took = seconds(others["summarise"])
    return resident() - before, took


def smollm() -> list[tuple[str, str, str]]:
    """All 270 heads of SmolLM2-135M at 2,048 tokens: 30 layers of 9 heads on 3 key heads."""
    plain, others = works(2048, True, 9, 3)
    layers = 30

    def all_layers() -> None:
        for _ in range(layers):
            others["summarise"]()

    ratio = ratios(plain, {"summarise": others["summarise"]}, 9)["summarise"]
    return [("each layer", f"{ratio:.2f} x", ""), ("30 layers", f"{seconds(all_layers):.1f} s", "aim: 3 s")]


def main() -> None:
    print(f"Python {sys.version.split()[0]}, PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    table("time, times F.scaled_dot_product_attention", times(False))
    table("the same, causal, times causal SDPA", times(True))
    table("most memory beside q, k and v", memory())
    table("SmolLM2-135M, 2,048 tokens, causal, times causal SDPA", smollm())


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(*grown(int(sys.argv[1]), sys.argv[2] == "1"))
    else:
        main()
