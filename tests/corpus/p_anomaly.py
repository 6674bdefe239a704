# Anomaly detection: PyTorch keeps the stack of the forward call and prints it when backward fails.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1)
        scores = scores.masked_fill(torch.ones(3, 3, dtype=torch.bool), float("-inf"))
        return F.softmax(scores, dim=-1) @ v


torch.manual_seed(0)
q = torch.randn(1, 3, 4, requires_grad=True)
output = Attention()(q, q, q)
print(output.isnan().all())
with torch.autograd.detect_anomaly():
    try:
        Attention()(q, q, q).sum().backward()
    except RuntimeError as error:
        print(error)
