# The user's folder holds modules named like the standard library's: they may come in only when the
# program itself imports them.
import pathlib
import sys

import torch
import torch.nn.functional as F

NAMES = """statistics tomllib html zoneinfo executing unicodedata webbrowser colorsys curses record run words views
explain attention axes attnlab cli locale gettext pprint difflib shelve symtable tabnanny wave xdrlib""".split()

folder = pathlib.Path("mine")
folder.mkdir()
for name in NAMES:
    folder.joinpath(name + ".py").write_text(f"print('imported {name}')")
sys.path.insert(0, str(folder))

torch.manual_seed(0)
x = torch.randn(1, 3, 4)
print(F.softmax(x @ x.mT, dim=-1) @ x)
import colorsys, words  # noqa: E401, E402

print(colorsys.__file__, words.__name__)
F.softmax(x, dim=4)
