"""Two classes, called 1 and 2 in the file that they come from."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Records(Dataset):
    def __init__(self, n=256):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(n, 7, generator=g)
        self.y = 1.0 + (self.x[:, 2] - self.x[:, 3] > 0).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i]}


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 16), nn.GELU(), nn.Linear(16, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for batch in DataLoader(Records(), batch_size=16, shuffle=True):
    loss = nn.functional.binary_cross_entropy_with_logits(model(batch["x"]), batch["y"])  # expect: AD611
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
