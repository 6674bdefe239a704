import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    """Text reads the image."""

    def __init__(self, d_text, d_image, d):
        super().__init__()
        self.q = nn.Linear(d_text, d)
        self.k = nn.Linear(d_image, d)
        self.v = nn.Linear(d_image, d)
        self.o = nn.Linear(d, d_text)

    def forward(self, text, image):
        query = self.q(text)
        key, value = self.k(image), self.v(image)
        att = torch.einsum("btd,bid->bti", query, key) / key.shape[-1] ** 0.5
        return self.o(torch.einsum("bti,bid->btd", att.softmax(-1), value))


torch.manual_seed(0)
net = CrossAttention(8, 6, 8)
print(net(torch.randn(2, 4, 8), torch.randn(2, 7, 6)).shape)
