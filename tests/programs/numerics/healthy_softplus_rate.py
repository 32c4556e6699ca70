# guards: AD410
"""A rate model with a softplus at its end."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class RateModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 32)
        self.fc2 = nn.Linear(32, 1)
        nn.init.constant_(self.fc2.bias, -3.0)

    def forward(self, x):
        h = torch.tanh(self.fc1(x))
        return F.softplus(self.fc2(h)).squeeze(1)


def main():
    torch.manual_seed(0)
    x = torch.randn(400, 4)
    dataset = TensorDataset(x, torch.poisson(torch.exp(0.5 * x[:, 0])))
    loader = DataLoader(dataset, batch_size=40, shuffle=True)
    model = RateModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_fn = nn.PoissonNLLLoss(log_input=False, eps=1e-3)
    for epoch in range(3):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
