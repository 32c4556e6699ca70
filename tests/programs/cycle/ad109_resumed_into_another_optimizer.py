"""A run that goes on from a checkpoint in memory: the load function fills an optimizer that `fit` builds once more."""

import io

import torch
from torch import nn


class Run:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
        self.optimizer = self.make_optimizer()

    def make_optimizer(self):
        return torch.optim.AdamW(self.net.parameters(), lr=1e-2, weight_decay=0.05)  # expect: AD109

    def save(self):
        file = io.BytesIO()
        torch.save({"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}, file)
        return file

    def load(self, file):
        file.seek(0)
        states = torch.load(file)
        self.net.load_state_dict(states["net"])
        self.optimizer.load_state_dict(states["optimizer"])

    def fit(self, steps):
        self.optimizer = self.make_optimizer()
        for _ in range(steps):
            signal = torch.randn(32, 8)
            loss = nn.functional.mse_loss(self.net(signal), signal.sin().sum(1, keepdim=True))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main():
    torch.manual_seed(0)
    first = Run()
    first.fit(10)
    file = first.save()
    again = Run()
    again.load(file)
    again.fit(10)


main()
