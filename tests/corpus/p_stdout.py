# What is written where: redirected, replaced, raw bytes, odd characters, no newline at the end.
import contextlib
import io
import os
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(1, 3, 4)
with contextlib.redirect_stdout(io.StringIO()) as held, contextlib.redirect_stderr(io.StringIO()) as errors:
    print(F.softmax(x @ x.mT, dim=-1))
    F.softmax(x)
print(len(held.getvalue()), errors.getvalue().splitlines()[1:])
original, sys.stdout = sys.stdout, io.StringIO()
print((x @ x.mT).sum())
text, sys.stdout = sys.stdout.getvalue(), original
print(text, end="")
sys.stdout.flush()
sys.stdout.buffer.write(b"\xff\xfe raw \x00 bytes\r\n")
sys.stdout.write("\r进度 50%\r\x1b[31mred\x1b[0m\u2028\t")
sys.stdout.flush()
os.write(1, b"by descriptor\n")
os.write(2, b"stderr too\n")
print("to stderr", file=sys.stderr)
print("surrogate", "\udcff".encode("utf-8", "surrogateescape"), sys.stdout.errors, sys.stderr.errors)
sys.stdout.reconfigure(line_buffering=True, encoding="ascii", errors="backslashreplace")
print("注意力")
sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
print("注意力", x.sum().item(), end="")
