import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--hidden", type=int, default=16)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--lr", type=float, default=0.5)
args = parser.parse_args()

torch.manual_seed(48)
# 两类点：圆内与圆外
points = torch.rand(40, 2) * 2 - 1
labels = (points.pow(2).sum(1) < 0.5).long()

net = nn.Sequential(nn.Linear(2, args.hidden), nn.ReLU(), nn.Linear(args.hidden, 2))
opt = torch.optim.SGD(net.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    logits = net(points)
    loss = F.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()

probs = F.softmax(net(points), dim=-1)
# expected score of every point: a product after a softmax, and yet no attention
score = probs @ torch.tensor([0.0, 1.0])
print(probs.shape, f"{loss.item():.4f}", f"{score.mean().item():.4f}")
