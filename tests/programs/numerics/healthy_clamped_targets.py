# guards: AD410
"""A regression whose targets are clamped and whose output is free."""

import torch
from torch import nn


class Gain(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        out = self.net(x)
        return out


def main():
    torch.manual_seed(0)
    model = Gain()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    for step in range(30):
        x = torch.rand(64, 3)
        y = (4 + 3 * x.sum(1, keepdim=True)).clamp(5.0, 10.0)
        loss = nn.functional.smooth_l1_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(step, loss.item())


main()
