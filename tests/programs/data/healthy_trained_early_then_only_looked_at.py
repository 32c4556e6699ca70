# guards: AD714
"""Levels of a game are worked through; once the agent is good enough, later rounds only measure it."""
import torch
from torch import nn


def levels():
    yield from (0.1, 0.2, 0.3)


def play(net, opt, spread):
    state = spread * torch.randn(48, 5)
    loss = nn.functional.cross_entropy(net(state), (state[:, :2].sum(1) > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()


def score(net):
    state = torch.randn(100, 5)
    with torch.no_grad():
        return (net(state).argmax(1) == (state[:, :2].sum(1) > 0)).float().mean().item()


def main():
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    upcoming, spread, scores = levels(), 0.05, []
    for round_ in range(14):
        if round_ < 6:
            spread = next(upcoming, spread)
            for _ in range(5):
                play(net, opt, spread)
        scores.append(score(net))
    print(scores)


if __name__ == "__main__":
    main()
