# -*- coding: latin-1 -*-
# The source is in Latin-1, as its first line says: é is one byte here. The failing line holds some.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
clé = torch.randn(1, 3, 4)
poids = F.softmax(clé @ clé.transpose(1, 2), dim=-1); sortie = poids @ clé
print("clé × requête", sortie, len("é"))
é = "é" * 3; résultat = clé @ clé
