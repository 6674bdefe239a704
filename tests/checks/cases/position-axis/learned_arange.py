import torch
from torch import nn


class Embeddings(nn.Module):
    def __init__(self, vocab_size, hidden_size, max_position):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, hidden_size)
        self.position_embeddings = nn.Embedding(max_position, hidden_size)
        self.LayerNorm = nn.LayerNorm(hidden_size, eps=1e-12)

    def forward(self, input_ids):
        position_ids = torch.arange(input_ids.size(0)).unsqueeze(1)
        embeddings = self.word_embeddings(input_ids) + self.position_embeddings(position_ids)  # expect: ATT091
        return self.LayerNorm(embeddings)


class BertSelfAttention(nn.Module):
    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads, self.head_size = num_heads, hidden_size // num_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)

    def transpose_for_scores(self, x):
        return x.view(*x.shape[:-1], self.num_heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, hidden_states):
        q = self.transpose_for_scores(self.query(hidden_states))
        k = self.transpose_for_scores(self.key(hidden_states))
        v = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(q, k.transpose(-1, -2)) / self.head_size**0.5
        probs = nn.functional.softmax(scores, dim=-1)
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return context.view(*context.shape[:2], -1)


torch.manual_seed(1)
emb, attn = Embeddings(30, 12, 64), BertSelfAttention(12, 3)
ids = torch.randint(0, 30, (2, 7))
print(attn(emb(ids)).mean().item())
