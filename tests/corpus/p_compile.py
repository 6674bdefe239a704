# torch.compile of a module and of a function: graphs, breaks and recompilations are the program's own.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._dynamo.utils import counters

graphs = []


def backend(graph, inputs):
    graphs.append([getattr(node.target, "__name__", node.target) for node in graph.graph.nodes if node.op.startswith("call")])
    return graph.forward


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.softmax(q @ k.transpose(-2, -1) / 2, dim=-1) @ v


def broken(x):
    x = torch.softmax(x @ x.mT, -1)
    print("break")
    return x @ x


torch.manual_seed(0)
x = torch.randn(1, 3, 4)
model = Attention()
compiled = torch.compile(model, backend=backend, fullgraph=True)
print(compiled(x), torch.equal(compiled(x), model(x)))
print(graphs)
function = torch.compile(broken, backend="eager")
print(function(x).sum().item(), function(x[:, :2]).shape, function(x).shape)
print(dict(counters["stats"]), sum(counters["graph_break"].values()))
print(torch.compiler.is_compiling(), torch._dynamo.explain(broken)(x).graph_break_count)
