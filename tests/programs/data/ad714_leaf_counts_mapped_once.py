"""Leaf area from four measures of a leaf; the driver knows nothing of what the trainer goes through."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def leaves(count):
    measures = torch.rand(count, 4)
    area = measures[:, 0] * measures[:, 1] * 0.7 + 0.1 * measures[:, 2]
    return measures, area


class Plots:
    """Goes through a garden, plot by plot."""

    def __init__(self, measures, area, size=24):
        self.stored = filter(lambda plot: len(plot[0]) == size, zip(measures.split(size), area.split(size)))


def season(net, rule, plots):
    for measures, area in plots.stored:  # <- AD714
        rule.zero_grad()
        F.smooth_l1_loss(net(measures).squeeze(1), area).backward()
        rule.step()


def grow(seasons=12):
    torch.manual_seed(3)
    plots = Plots(*leaves(600))
    net = nn.Sequential(nn.Linear(4, 24), nn.SiLU(), nn.Linear(24, 1))
    rule = torch.optim.RMSprop(net.parameters(), lr=3e-3)
    for year in range(1, seasons + 1):
        season(net, rule, plots)
    net.eval()
    measures, area = leaves(200)
    with torch.inference_mode():
        return (net(measures).squeeze(1) - area).abs().mean().item()


if __name__ == "__main__":
    print(f"off by {grow():.4f}")
