import torch
import torch.nn as nn
import torch.nn.functional as F


class CLIP(nn.Module):
    def __init__(self, img_dim, txt_dim, proj_dim):
        super().__init__()
        self.img = nn.Linear(img_dim, proj_dim)
        self.txt = nn.Linear(txt_dim, proj_dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.659))

    def forward(self, images, texts):
        i = F.normalize(self.img(images), dim=-1)
        t = F.normalize(self.txt(texts), dim=-1)
        logits_per_image = self.logit_scale.exp() * i @ t.t()
        return logits_per_image, logits_per_image.t()


torch.manual_seed(50)
model = CLIP(img_dim=12, txt_dim=9, proj_dim=6)
a, b = model(torch.randn(5, 12), torch.randn(5, 9))
target = torch.arange(5)
loss = (F.cross_entropy(a, target) + F.cross_entropy(b, target)) / 2
loss.backward()

with torch.no_grad():
    label_probs = a.softmax(dim=-1)
    print("Label probs:", label_probs[0])
    print("right:", (label_probs.argmax(-1) == target).float().mean().item())
print("loss", loss.item())
