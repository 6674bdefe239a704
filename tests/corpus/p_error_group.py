# Exception groups: `except*` takes one part, the rest ends the program.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
q, k = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
errors = []
for dim in (-1, 3, 5):
    try:
        print(F.softmax(q @ k.transpose(1, 2), dim=dim).sum().item())
    except IndexError as error:
        error.add_note(f"dim was {dim}")
        errors.append(error)
try:
    q @ k
except RuntimeError as error:
    errors.append(error)

try:
    raise ExceptionGroup("bad attention", errors)
except* RuntimeError as group:
    print("taken:", [str(error) for error in group.exceptions])
