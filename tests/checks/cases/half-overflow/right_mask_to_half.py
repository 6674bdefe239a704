# a float32 mask with -1e9, carried to float16: it becomes -inf there, and hides as it should
import torch

torch.manual_seed(0)
x = torch.randn(2, 5, 16).half()
keep = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
bias = ((1.0 - keep[:, None, :].float()) * -1e9).half()
scores = x @ x.transpose(1, 2) / 4 + bias
print((torch.softmax(scores, -1) @ x).isnan().any())
