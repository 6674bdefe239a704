import torch
from torch import nn
import torch.nn.functional as F


class LanguageModel(nn.Module):
    def __init__(self, vocab, dim, heads):
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(vocab, dim)
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.o_proj = nn.Linear(dim, dim)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels=None):
        b, n = input_ids.shape
        x = self.embed(input_ids)
        q, k, v = (p(x).view(b, n, self.heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        logits = self.lm_head(x + self.o_proj(y.transpose(1, 2).reshape(b, n, -1)))
        loss = None
        if labels is not None:
            shift_logits = logits[:, :-1, :].contiguous()
            shift_labels = labels[:, 1:].contiguous()
            loss = F.cross_entropy(shift_logits.view(-1, logits.size(-1)), shift_labels.view(-1))
        return logits, loss


torch.manual_seed(1)
ids = torch.randint(0, 19, (2, 6))
logits, loss = LanguageModel(19, 12, 3)(ids, labels=ids)
print(loss.item())
