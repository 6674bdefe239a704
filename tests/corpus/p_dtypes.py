# Default dtype, half precision, bfloat16, complex, integers, quantised tensors, type promotion.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def attend(x):
    return F.softmax(x @ x.mT / x.size(-1) ** 0.5, dim=-1) @ x


x = torch.randn(1, 3, 4)
print(x.dtype, attend(x), torch.tensor(1.0).dtype, torch.nn.Linear(2, 2).weight.dtype)
print(attend(x.half()), attend(x.bfloat16()), attend(x.float()).double())
z = torch.complex(x, x.flip(-1))
scores = (z @ z.mH).abs()
print(z[0, 0], F.softmax(scores, dim=-1), z.conj().is_conj(), z.real.sum(), torch.view_as_real(z).shape, z.imag._is_view())
print((torch.arange(4).view(2, 2) @ torch.ones(2, 2, dtype=torch.long)).dtype, (torch.tensor(2) / 3).dtype, 2**torch.arange(3))
print((torch.ones(1, dtype=torch.int32) + 1.5).dtype, torch.result_type(x, 1), torch.promote_types(torch.half, torch.int8))
q = torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8)
print(q.int_repr().sum(), q.dequantize().sum())
try:
    torch.full((2, 2), 0.0, dtype=torch.float16).masked_fill(torch.ones(2, 2).bool(), -1e9)
except RuntimeError as error:
    print(error)
print(torch.get_default_dtype(), torch.tensor([True]).sum(), torch.float8_e4m3fn)
