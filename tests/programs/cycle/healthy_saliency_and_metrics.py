# guards: AD102 AD210
"""Training with saliency maps, retained gradients and a learning-rate finder in between."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 6, 5, padding=2)
        self.fc = nn.Linear(6, 2)

    def forward(self, x):
        self.features = torch.relu(self.conv(x))
        return self.fc(self.features.amax(dim=2))


def bumps(n):
    y = torch.randint(0, 2, (n,))
    x = 0.3 * torch.randn(n, 1, 24)
    place = torch.randint(4, 20, (n,))
    x[torch.arange(n), 0, place] += 2.0
    x[torch.arange(n), 0, place + 1] += 2.0 * (2 * y.float() - 1)
    return TensorDataset(x, y)


def find_lr(model, loader, rates=(1e-3, 1e-2, 1e-1)):
    """Losses after one step on a copy, for each rate."""
    result = {}
    for lr in rates:
        trial = copy.deepcopy(model)
        optimizer = torch.optim.SGD(trial.parameters(), lr=lr)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(trial(x), y)
            loss.backward()
            optimizer.step()
            result[lr] = loss.item()
            break
    return min(result, key=result.get)


def saliency(model, x, y):
    model.eval()
    x = x.clone().requires_grad_()
    score = model(x).gather(1, y.unsqueeze(1)).sum()
    score.backward()
    importance = x.grad.abs().mean().item()
    model.zero_grad()
    model.train()
    return importance


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(bumps(320), batch_size=32, shuffle=True)
    model = Net()
    lr = find_lr(model, loader)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            model.features.retain_grad()
            loss.backward()
            feature_gradient = model.features.grad.norm().item()
            optimizer.step()
        print(epoch, lr, loss.item(), feature_gradient, saliency(model, x, y))
