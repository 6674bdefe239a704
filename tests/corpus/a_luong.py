import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)


class Decoder(nn.Module):
    def __init__(self, vocab, hidden, enc_hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.rnn = nn.LSTMCell(hidden, hidden)
        self.W_a = nn.Linear(enc_hidden, hidden, bias=False)
        self.W_c = nn.Linear(hidden + enc_hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, encoder_outputs, src_mask, steps):
        batch = encoder_outputs.size(0)
        token = torch.zeros(batch, dtype=torch.long)
        state = None
        keys = self.W_a(encoder_outputs)
        tokens = []
        while len(tokens) < steps:
            h, c = self.rnn(self.embedding(token), state)
            state = (h, c)
            # dot product of the hidden state with every encoder state
            energy = torch.bmm(h.unsqueeze(1), keys.transpose(1, 2))
            energy = energy.masked_fill(~src_mask.unsqueeze(1), -1e10)
            alignment = F.softmax(energy, dim=2)
            context = torch.bmm(alignment, encoder_outputs).squeeze(1)
            attentional = torch.tanh(self.W_c(torch.cat((h, context), dim=1)))
            token = self.out(attentional).argmax(dim=1)
            tokens.append(token)
        return torch.stack(tokens, dim=1)


encoder = nn.GRU(6, 11, batch_first=True)
encoder_outputs, last = encoder(torch.randn(3, 7, 6))
src_mask = torch.arange(7) < torch.tensor([[7], [5], [6]])
print(Decoder(19, 8, 11)(encoder_outputs, src_mask, steps=5))
