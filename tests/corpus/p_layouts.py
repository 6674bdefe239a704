# Sparse, nested, meta and named-less odd tensors.
import warnings

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(3, 4)
mask = torch.eye(3).to_sparse()
print(mask, torch.sparse.mm(mask, x), torch.sparse.softmax(mask, dim=1).to_dense(), mask.coalesce().indices())
print((mask @ x).is_sparse, mask.to_dense().to_sparse_csr())
nested = torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)
print(nested.shape[0], (nested * 2).values().sum(), [part.shape for part in nested.unbind()])
old = torch.nested.nested_tensor([x, x[:2]])
print(F.softmax(old, dim=-1).to_padded_tensor(0.0), torch.matmul(old, old.transpose(1, 2)).size(0))
q = torch.nested.nested_tensor([x.view(3, 2, 2), x[:2].view(2, 2, 2)], layout=torch.jagged).transpose(1, 2)
print(F.scaled_dot_product_attention(q, q, q).transpose(1, 2).values())
meta = torch.empty(2, 3, 4, device="meta")
print((meta @ meta.mT).softmax(-1), torch.empty(2, device="meta"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        nested @ nested
    except Exception as error:
        print(type(error).__name__)
expanded = x.expand(2, 3, 4)
strided = x.as_strided((2, 2), (1, 2))
print(expanded.stride(), strided, x.t().is_contiguous(), x.t().contiguous().stride(), torch.tensor(5).expand(3).unfold(0, 2, 1))
