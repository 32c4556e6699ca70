"""The rows with the largest errors replace others in a table of which the workers have copies."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader


class Hardest:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.rows = np.arange(len(x))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return self.x[row], self.y[row]


def main():
    torch.manual_seed(0)
    x = torch.randn(96, 6)
    data = Hardest(x, (x[:, :1] * x[:, 1:2]).tanh())
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=1, persistent_workers=True)  # expect: AD727
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        for inputs, targets in loader:
            loss = nn.functional.smooth_l1_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            errors = (model(data.x) - data.y).abs().squeeze(1)
        data.rows[:] = np.repeat(errors.topk(48).indices.numpy(), 2)


main()
