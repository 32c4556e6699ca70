# guards: AD101
"""Fabric with accumulation over two micro-batches."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(fabric, model, loader):
    model.eval()
    hits = seen = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(-1) == y).sum().item()
            seen += len(y)
    model.train()
    return hits / seen


def run(fabric: L.Fabric):
    fabric.seed_everything(11)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = fabric.setup(model, optimizer)
    x = torch.randn(400, 10)
    y = x[:, :4].argmax(-1)
    train = fabric.setup_dataloaders(DataLoader(TensorDataset(x[:320], y[:320]), batch_size=16, shuffle=True))
    test = fabric.setup_dataloaders(DataLoader(TensorDataset(x[320:], y[320:]), batch_size=40))
    for epoch in range(3):
        for i, (bx, by) in enumerate(train):
            accumulating = i % 2 != 1
            with fabric.no_backward_sync(model, enabled=accumulating):
                loss = nn.functional.cross_entropy(model(bx), by) / 2
                fabric.backward(loss)
            if not accumulating:
                fabric.clip_gradients(model, optimizer, max_norm=5.0)
                optimizer.step()
                optimizer.zero_grad()
        fabric.print(epoch, evaluate(fabric, model, test))


if __name__ == "__main__":
    run(L.Fabric(accelerator="cpu", devices=1))
