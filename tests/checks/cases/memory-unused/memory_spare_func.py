import torch
import torch.nn as nn
import torch.nn.functional as F
class Decoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
    def forward(self, tgt, encoder_output):
        q, k, v = self.q(tgt), self.k(tgt), self.v(tgt)  # expect: ATT039
        return tgt + self.o(F.scaled_dot_product_attention(q, k, v))
torch.manual_seed(0)
print(Decoder(8)(torch.randn(2, 3, 8), torch.randn(2, 6, 8)).shape)
