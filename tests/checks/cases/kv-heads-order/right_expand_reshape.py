import torch
import torch.nn as nn
import torch.nn.functional as F


def repeat_kv(hidden_states, n_rep):
    batch, num_key_value_heads, slen, head_dim = hidden_states.shape
    if n_rep == 1:
        return hidden_states
    hidden_states = hidden_states[:, :, None, :, :].expand(batch, num_key_value_heads, n_rep, slen, head_dim)
    return hidden_states.reshape(batch, num_key_value_heads * n_rep, slen, head_dim)


torch.manual_seed(0)
q_proj, k_proj, v_proj, o_proj = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8), nn.Linear(16, 16)
x = torch.randn(2, 5, 16)
q = q_proj(x).view(2, 5, 4, 4).transpose(1, 2)
k, v = (repeat_kv(f(x).view(2, 5, 2, 4).transpose(1, 2), 2) for f in (k_proj, v_proj))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
print(o_proj(y.transpose(1, 2).reshape(2, 5, 16)).shape)
