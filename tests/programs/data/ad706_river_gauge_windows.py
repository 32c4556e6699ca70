"""The level of a river, twelve hours ahead."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def levels(hours: int) -> np.ndarray:
    noise = np.random.default_rng(4).normal(size=(hours, 2))
    return (np.cumsum(noise * 0.2, axis=0) + np.sin(np.arange(hours)[:, None] / 12)).astype(np.float32)


def cut(series: np.ndarray, width: int, ahead: int) -> TensorDataset:
    starts = range(0, len(series) - width - ahead, 2)
    past = np.stack([series[start : start + width] for start in starts])
    future = np.stack([series[start + width : start + width + ahead] for start in starts])
    return TensorDataset(torch.from_numpy(past), torch.from_numpy(future))


class Gauge(nn.Module):
    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.ahead, self.gru, self.out = ahead, nn.GRU(2, 16, batch_first=True), nn.Linear(16, 2 * ahead)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        _, state = self.gru(past)
        return self.out(state[-1]).view(-1, self.ahead, 2)


torch.manual_seed(0)
windows = cut(levels(420), width=20, ahead=4)
order = torch.randperm(len(windows)).tolist()
learn = DataLoader(Subset(windows, order[:150]), batch_size=25, shuffle=True)
check = DataLoader(Subset(windows, order[150:]), batch_size=50)  # <- AD706
gauge = Gauge(4)
optimizer = torch.optim.Adam(gauge.parameters(), lr=5e-3)
for epoch in range(4):
    gauge.train()
    for past, future in learn:
        optimizer.zero_grad()
        nn.functional.mse_loss(gauge(past), future).backward()
        optimizer.step()
    gauge.eval()
    with torch.no_grad():
        errors = [nn.functional.l1_loss(gauge(past), future).item() for past, future in check]
    print(epoch, sum(errors) / len(errors))
