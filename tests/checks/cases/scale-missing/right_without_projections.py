"""The simplest: tokens attend to each other as they are, nothing is learned."""
import torch

torch.manual_seed(115)
inputs = torch.rand(6, 3)
attn_scores = inputs @ inputs.T
attn_weights = torch.softmax(attn_scores, dim=-1)
all_context_vecs = attn_weights @ inputs
print(all_context_vecs)

x = torch.randn(2, 4, 8)
weights = torch.bmm(x, x.transpose(1, 2)).softmax(dim=2)
print(torch.bmm(weights, x).shape)
