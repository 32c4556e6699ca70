# guards: AD727
"""A curriculum that reaches persistent workers with the indices; the data set's own level is for those who ask for less."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Products(Dataset):
    def __init__(self):
        self.level = 1

    def __len__(self):
        return 48

    def __getitem__(self, asked):
        i, level = asked if isinstance(asked, tuple) else (asked, self.level)
        a, b = torch.randint(1, 10 * level, (2,)).tolist()
        return torch.tensor([a / 40, b / 40, i / 48]), torch.tensor([a * b / 1600])


class Levels:
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        level = self.data.level
        for i in torch.randperm(len(self.data)).tolist():
            yield i, level

    def __len__(self):
        return len(self.data)


torch.manual_seed(0)
products = Products()
loader = DataLoader(products, batch_size=12, sampler=Levels(products), num_workers=1, persistent_workers=True)
model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for level in range(1, 5):
    products.level = level
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(level, model(products[0][0]).item())
