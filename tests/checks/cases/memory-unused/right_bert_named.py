import math, torch
from torch import nn
class BertSelfAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.num_attention_heads, self.attention_head_size = heads, hidden // heads
        self.all_head_size = hidden
        self.query, self.key, self.value = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(0.0)
    def transpose_for_scores(self, x):
        new = x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
        return x.view(*new).permute(0, 2, 1, 3)
    def forward(self, hidden_states, encoder_hidden_states=None):
        q = self.transpose_for_scores(self.query(hidden_states))
        src = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        k, v = self.transpose_for_scores(self.key(src)), self.transpose_for_scores(self.value(src))
        p = self.dropout(nn.Softmax(dim=-1)(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.attention_head_size)))
        c = torch.matmul(p, v).permute(0, 2, 1, 3).contiguous()
        return c.view(*c.size()[:-2], self.all_head_size)
torch.manual_seed(0)
print(BertSelfAttention(12, 3)(torch.randn(2, 5, 12)).shape)
