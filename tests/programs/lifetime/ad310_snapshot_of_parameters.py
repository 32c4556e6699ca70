"""Keeps "the weights before training" as references to the parameters, to measure how far they moved."""
import torch
from torch import nn


class Monitor:
    def __init__(self, model):
        self.model = model
        self.initial = model.state_dict()  # expect: AD310

    def distance(self):
        now = self.model.state_dict()
        return {name: (now[name] - self.initial[name]).norm().item() for name in now}


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 2))
    monitor = Monitor(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(25):
        x = torch.randn(40, 4)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] + x[:, 1] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(monitor.distance())


main()
