import torch
import torch.nn as nn


class 加性注意力(nn.Module):
    """score(q, k) = vᵀ tanh(W_q q + W_k k)"""

    def __init__(self, q_size, k_size, hidden):
        super().__init__()
        self.W_q = nn.Linear(q_size, hidden, bias=False)
        self.W_k = nn.Linear(k_size, hidden, bias=False)
        self.w_v = nn.Parameter(torch.randn(hidden))

    def forward(self, query, keys):
        q = self.W_q(query).unsqueeze(1)          # [B, 1, A]
        k = self.W_k(keys)                        # [B, S, A]
        features = torch.tanh(q + k)              # 广播相加
        scores = torch.matmul(features, self.w_v)   # [B, S]
        weights = torch.softmax(scores, dim=1)
        return torch.bmm(weights.unsqueeze(1), keys), weights


torch.manual_seed(41)
B, S, T = 2, 6, 4
encoder = nn.GRU(5, 7, batch_first=True, bidirectional=True)
attend = 加性注意力(9, 14, 8)
cell = nn.GRUCell(5 + 14, 9)

source, target = torch.randn(B, S, 5), torch.randn(B, T, 5)
annotations, _ = encoder(source)
state = torch.zeros(B, 9)
for t in range(T):
    context, w = attend(state, annotations)
    state = cell(torch.cat([target[:, t], context.squeeze(1)], dim=-1), state)
    print(t, [round(p, 4) for p in w[0].tolist()])
print(state.shape)
