# deepcopy, pickle, torch.save and load of tensors, modules, and classes of __main__.
import copy
import io
import pickle
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)
        self.register_buffer("mask", torch.ones(3, 3).tril())

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.mT / 2).masked_fill(self.mask == 0, float("-inf"))
        return F.softmax(scores, dim=-1) @ v


torch.manual_seed(0)
x = torch.randn(1, 3, 4)
model = Attention()
expected = model(x)
twin = copy.deepcopy(model)
print(torch.equal(twin(x), expected), twin.qkv.weight is model.qkv.weight, type(twin).__module__)
print(torch.equal(pickle.loads(pickle.dumps(model))(x), expected), torch.equal(pickle.loads(pickle.dumps(x)), x))
with tempfile.TemporaryFile() as file:
    torch.save({"model": model.state_dict(), "x": x}, file)
    print(file.tell(), file.seek(0))
    loaded = torch.load(file)
    print(list(loaded["model"]))
    twin.load_state_dict(loaded["model"])
    torch.save(model, "whole.pt")
    print(torch.equal(torch.load("whole.pt", weights_only=False)(x), expected))
    try:
        torch.load("whole.pt")
    except pickle.UnpicklingError as error:
        print("Attention" in str(error))
buffer = io.BytesIO()
torch.save(x, buffer)
print(len(buffer.getvalue()), copy.copy(x) is x, copy.deepcopy(expected.detach()).shape)
try:
    copy.deepcopy(expected)
except RuntimeError as error:
    print(str(error)[:40])
try:
    twin.load_state_dict({"qkv.weight": torch.ones(2, 2)})
except RuntimeError as error:
    print(error)
