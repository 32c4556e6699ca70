from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    degree: int = 5
    lr: float = 5.0
    momentum: float = 0.9
    seed: int = 2


def powers(x, degree):
    return torch.cat([x**k for k in range(1, degree + 1)], dim=1)


def fit(settings):
    torch.manual_seed(settings.seed)
    x = torch.linspace(-2, 2, 640)[torch.randperm(640)].unsqueeze(1)
    y = torch.sin(2 * x) + 0.05 * torch.randn_like(x)
    model = nn.Sequential(nn.Linear(settings.degree, 48), nn.Softplus(), nn.Linear(48, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=settings.lr, momentum=settings.momentum)  # expect: AD405
    loader = DataLoader(TensorDataset(powers(x, settings.degree), y), batch_size=40)
    for features, target in loader:
        loss = nn.functional.mse_loss(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.4g}")


fit(Settings())
