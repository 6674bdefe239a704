import torch


def attend(q, k, v, keep):
    w = torch.bmm(q, k.transpose(1, 2)).div(q.size(-1) ** 0.5).softmax(-1)
    w[~keep.expand_as(w)] = 0
    w = torch.nn.functional.normalize(w, p=1, dim=-1)
    return torch.bmm(w, v)


torch.manual_seed(4)
lengths = torch.tensor([4, 2, 3])
keep = (torch.arange(4) < lengths[:, None])[:, None, :]
q, k, v = torch.randn(3, 3, 4, 8)
print(attend(q, k, v, keep)[1])
