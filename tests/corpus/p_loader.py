# DataLoader with shuffle, random_split, a collate function; its iterator draws from the global state.
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Tokens(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.arange(index % 3 + 1), index


def collate(items):
    tokens, indices = zip(*items, strict=True)
    return torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True, padding_value=-1), torch.tensor(indices)


torch.manual_seed(0)
table = torch.randn(4, 8)
for tokens, indices in DataLoader(Tokens(), batch_size=4, shuffle=True, collate_fn=collate):
    x = table[tokens]
    mask = (tokens < 0)[:, None, :]
    weights = F.softmax((x @ x.mT / 8**0.5).masked_fill(mask, float("-inf")), dim=-1)
    print(indices.tolist(), (weights @ x).sum().item())
train, rest = random_split(TensorDataset(torch.arange(6)), [4, 2])
print(train.indices, rest.indices, [batch for (batch,) in DataLoader(train, batch_size=3)], torch.rand(1))
if __name__ == "__main__":
    print([indices.tolist() for _, indices in DataLoader(Tokens(), 5, num_workers=1, shuffle=True, collate_fn=collate)])
