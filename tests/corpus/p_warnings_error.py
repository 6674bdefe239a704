# Warnings turned into exceptions, recorded, shown by the user's own function, and switched off.
import sys
import traceback
import warnings

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 3, 4)

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(2):
        F.softmax(x)
        x.T
    warnings.warn("mine")
print([(w.category.__name__, w.filename == __file__, w.lineno, str(w.message)[:40]) for w in seen])

with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        F.softmax(x @ x.transpose(1, 2))
    except UserWarning:
        traceback.print_exc()
    try:
        x.T
    except UserWarning as error:
        print("raised", len(traceback.extract_tb(error.__traceback__)))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    F.softmax(x)


def show(message, category, filename, lineno, file=None, line=None):
    print("shown", category.__name__, filename == __file__, lineno)


warnings.showwarning = show
F.softmax(x)
warnings.filterwarnings("ignore", module="__main__")
F.softmax(x[0])
print("filters", len(warnings.filters), len(sys.warnoptions))
