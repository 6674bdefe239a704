# A byte order mark at the start, CR LF at the end of every line, a form feed, and a tab or two.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
查询 = torch.randn(1, 3, 4)

def attend(q):
	scores = q @ q.transpose(1, 2); 权重 = F.softmax(scores, dim=-1)
	return 权重 @ q
text = """one
two"""
print(attend(查询), repr(text))
print("𝒬", 查询 @ 查询)
