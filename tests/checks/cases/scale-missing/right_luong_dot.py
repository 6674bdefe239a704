import torch
import torch.nn as nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.wa = nn.Linear(hidden, hidden, bias=False)
        self.wc = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids, memory, state):
        h, _ = self.rnn(self.emb(ids), state)
        score = torch.bmm(h, self.wa(memory).transpose(1, 2))
        align = F.softmax(score, dim=-1)
        context = torch.bmm(align, memory)
        return self.out(torch.tanh(self.wc(torch.cat([context, h], dim=-1))))


torch.manual_seed(116)
encoder = nn.GRU(6, 8, batch_first=True)
memory, state = encoder(torch.randn(2, 7, 6))
print(Decoder(13, 8)(torch.randint(0, 13, (2, 4)), memory, state).shape)
