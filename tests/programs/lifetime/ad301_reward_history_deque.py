"""Value predictions are remembered in long windows to report their mean, next to the returns."""

from __future__ import annotations

from collections import deque

import torch
from torch import nn


class Monitor:
    def __init__(self, capacity: int) -> None:
        self.values: deque[torch.Tensor] = deque(maxlen=capacity)
        self.returns: deque[float] = deque(maxlen=capacity)

    def note(self, value: torch.Tensor, gain: float) -> None:
        self.values.append(value)  # expect: AD301
        self.returns.append(gain)

    def report(self) -> str:
        return f"{len(self.values)} values, mean return {sum(self.returns) / len(self.returns):.3f}"


def main() -> None:
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
    monitor = Monitor(5000)
    for episode in range(30):
        states = torch.randn(40, 5)
        returns = states[:, :2].sum(1) + 0.1 * torch.randn(40)
        predicted = critic(states).squeeze(1)
        loss = nn.functional.smooth_l1_loss(predicted, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        monitor.note(predicted.mean(), returns.mean().item())
        if episode % 10 == 9:
            print(monitor.report())


if __name__ == "__main__":
    main()
