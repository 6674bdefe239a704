import torch

torch.manual_seed(4)
长, 宽 = 5, 8
x = torch.randn(2, 长, 宽)
q, k, v = torch.nn.Linear(宽, 3 * 宽)(x).split(宽, -1)
因果 = (torch.arange(长)[None] > torch.arange(长)[:, None]).float()
分数 = q.bmm(k.transpose(1, 2)) / 宽**0.5
分数 = 分数 - 因果 * 1e9
print("权重\n", 分数.softmax(-1)[0])
print((分数.softmax(-1) @ v).shape)
