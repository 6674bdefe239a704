# a table of results, NaN where nothing was measured
import torch

torch.manual_seed(0)
results = torch.full((3, 3), float("nan"))
for i, length in enumerate((2, 4, 6)):
    x = torch.randn(2, length, 8)
    w = torch.softmax(x @ x.transpose(-2, -1) / 8**0.5, dim=-1)
    results[i, 0] = (w @ x).var()
print(results)
print(torch.nanmean(results))
