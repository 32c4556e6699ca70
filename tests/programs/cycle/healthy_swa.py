# guards: AD120
"""Stochastic weight averaging with its own schedule and batch-norm recalibration."""

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(320, 6)
    y = (x[:, :2].sum(1) * x[:, 2] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(6, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    swa_model = AveragedModel(model)
    swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=1)
    for epoch in range(4):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
        if epoch >= 1:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        print(epoch, loss.item())
    update_bn(loader, swa_model)
    swa_model.eval()
    with torch.no_grad():
        x = torch.randn(200, 6)
        y = (x[:, :2].sum(1) * x[:, 2] > 0).long()
        print((swa_model(x).argmax(1) == y).float().mean().item())


main()
