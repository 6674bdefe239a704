import torch
import torch.nn.functional as F

# prefill is causal; a single query with a cache needs no mask
torch.manual_seed(11)
D, H = 12, 3
emb, qkv, head = torch.nn.Embedding(17, D), torch.nn.Linear(D, 3 * D), torch.nn.Linear(D, 17)


def step(ids, cache):
    b, n = ids.shape
    q, k, v = qkv(emb(ids)).view(b, n, 3, H, -1).permute(2, 0, 3, 1, 4)
    if cache is not None:
        k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
    return head(y.transpose(1, 2).reshape(b, n, D)), (k, v)


with torch.no_grad():
    ids = torch.randint(0, 17, (2, 4))
    logits, cache = step(ids, None)
    for _ in range(3):
        token = logits[:, -1].argmax(-1, keepdim=True)
        logits, cache = step(token, cache)
        print(token.squeeze(1).tolist())
