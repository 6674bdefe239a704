# In eval without gradients PyTorch's Transformer takes another, fused path, with other numbers and
# shapes: padding is cut away. Which path it takes is the program's affair.
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_printoptions(precision=8)
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
encoder = nn.TransformerEncoder(layer, 2)
x = torch.randn(2, 4, 8)
padding = torch.tensor([[False, False, False, True], [False, False, True, True]])
print(encoder(x, src_key_padding_mask=padding).shape)
encoder.eval()
print(encoder(x, src_key_padding_mask=padding).shape)
with torch.no_grad():
    print(encoder(x, src_key_padding_mask=padding))
    print(layer.eval()(x), encoder(x)[0, 0])
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    print(attention(x, x, x, key_padding_mask=padding, need_weights=False)[0])
    print(attention(x, x, x, need_weights=True)[1])
    masked = torch.ones(2, 4, dtype=torch.bool)
    print(attention(x, x, x, key_padding_mask=masked)[0].isnan().sum().item())
with torch.inference_mode():
    print(encoder(x, src_key_padding_mask=padding).shape, layer(x).is_inference())
print(nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()(x, x)[0, 0])
gru = nn.GRU(8, 8, batch_first=True, bidirectional=True)
packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True)
print(nn.utils.rnn.pad_packed_sequence(gru(packed)[0], batch_first=True)[0].sum(), nn.LSTM(8, 4)(x)[1][0].shape)
