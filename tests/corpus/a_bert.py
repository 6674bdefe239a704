import math

import torch
from torch import nn


class BertEmbeddings(nn.Module):
    def __init__(self, vocab, hidden, max_len):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, hidden, padding_idx=0)
        self.position_embeddings = nn.Embedding(max_len, hidden)
        self.token_type_embeddings = nn.Embedding(2, hidden)
        self.LayerNorm = nn.LayerNorm(hidden)

    def forward(self, input_ids, token_type_ids):
        position_ids = torch.arange(input_ids.size(1)).unsqueeze(0)
        embeddings = self.word_embeddings(input_ids) + self.position_embeddings(position_ids)
        return self.LayerNorm(embeddings + self.token_type_embeddings(token_type_ids))


class BertSelfAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.num_attention_heads, self.attention_head_size = heads, hidden // heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))

    def transpose_for_scores(self, x):
        new_x_shape = x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
        x = x.view(*new_x_shape)
        return x.permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask):
        mixed_query_layer = self.query(hidden_states)
        key_layer = self.transpose_for_scores(self.key(hidden_states))
        value_layer = self.transpose_for_scores(self.value(hidden_states))
        query_layer = self.transpose_for_scores(mixed_query_layer)

        attention_scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        attention_scores = attention_scores / math.sqrt(self.attention_head_size)
        # the mask is 0 for tokens to keep and -10000 for padding
        attention_scores = attention_scores + attention_mask
        attention_probs = nn.functional.softmax(attention_scores, dim=-1)

        context_layer = torch.matmul(attention_probs, value_layer)
        context_layer = context_layer.permute(0, 2, 1, 3).contiguous()
        return context_layer.view(*context_layer.size()[:-2], -1)


class BertLayer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.attention, self.dense = BertSelfAttention(hidden, heads), nn.Linear(hidden, hidden)
        self.ffn = nn.Sequential(nn.Linear(hidden, 30), nn.GELU(), nn.Linear(30, hidden))
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def forward(self, h, mask):
        h = self.norm1(h + self.dense(self.attention(h, mask)))
        return self.norm2(h + self.ffn(h))


torch.manual_seed(39)
embed, layers = BertEmbeddings(31, 15, 12), [BertLayer(15, 3) for _ in range(2)]
input_ids = torch.tensor([[11, 7, 29, 3, 8, 12, 4], [11, 5, 9, 12, 0, 0, 0]])
extended = (1.0 - (input_ids != 0)[:, None, None, :].float()) * -10000.0
with torch.no_grad():
    h = embed(input_ids, torch.zeros_like(input_ids))
    for layer in layers:
        h = layer(h, extended)
print("[CLS]", h[:, 0].shape, h[:, 0].abs().sum().item())
