# a shape error that is caught and told is the program's own affair
import torch

torch.manual_seed(0)
q, k = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
try:
    q @ k
except RuntimeError as error:
    print("预料之中的错误:", type(error).__name__)
w = torch.softmax(q @ k.transpose(-2, -1) / 8**0.5, dim=-1)
print(w @ k)
