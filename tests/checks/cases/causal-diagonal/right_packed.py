import torch

torch.manual_seed(13)
length = torch.tensor([3, 2, 4])
doc = torch.repeat_interleave(torch.arange(3), length)
n = len(doc)
x = torch.randn(1, n, 8)
q, k, v = torch.nn.Linear(8, 24)(x).chunk(3, -1)
place = torch.arange(n)
same = doc[:, None] == doc[None, :]
before = place[None, :] <= place[:, None]
own = (q @ k.mT / 8**0.5).masked_fill(~(same & before), -1e9)
# what stood before in any document, and itself
other = (q @ k.mT / 8**0.5).masked_fill(~((place[None, :] < place[:, None]) & ~same | torch.eye(n).bool()), -1e9)
print((own.softmax(-1) @ v + other.softmax(-1) @ v).sum())
