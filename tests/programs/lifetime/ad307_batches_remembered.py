"""A trainer that remembers every prediction of the run, detached, to plot a histogram that nobody draws."""
from collections import deque

import torch
from torch import nn


class Recorder:
    def __init__(self, window):
        self.window = window
        self.predictions = []

    def __call__(self, prediction):
        self.predictions.append(prediction.detach().clone())  # expect: AD307

    def spread(self):
        return torch.stack(list(self.predictions)[-self.window :]).std().item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 200))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    basis = torch.randn(30, 200) / 5
    recorder = Recorder(window=5)
    for step in range(40):
        x = torch.randn(256, 30)
        prediction = model(x)
        loss = nn.functional.mse_loss(prediction, torch.tanh(x @ basis))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recorder(prediction)
        if step % 10 == 9:
            print(step, loss.item(), recorder.spread())


if __name__ == "__main__":
    main()
