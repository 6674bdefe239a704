import torch
import torch.nn as nn


class MAB(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc_q, self.fc_k, self.fc_v, self.fc_o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, Q, K):
        q, k, v = self.fc_q(Q), self.fc_k(K), self.fc_v(K)
        A = torch.softmax(q.bmm(k.transpose(1, 2)) / q.size(-1) ** 0.5, 2)
        O = q + A.bmm(v)
        return O + torch.relu(self.fc_o(O))


class ISAB(nn.Module):
    """Inducing points read the set, then the set reads the points: both directions are meant."""

    def __init__(self, d, m):
        super().__init__()
        self.I = nn.Parameter(torch.randn(1, m, d))
        self.mab0, self.mab1 = MAB(d), MAB(d)

    def forward(self, X):
        H = self.mab0(self.I.repeat(X.size(0), 1, 1), X)
        return self.mab1(X, H)


torch.manual_seed(0)
print(ISAB(6, 3)(torch.randn(2, 5, 6)).shape)
