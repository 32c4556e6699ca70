"""Windows of a series; the model was written for one more value per window than the data set cuts out."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset[dict[str, Tensor]]):
    def __init__(self, series: Tensor, width: int) -> None:
        self.series, self.width = series, width

    def __len__(self) -> int:
        return len(self.series) - self.width

    def __getitem__(self, start: int) -> dict[str, Tensor]:
        past = self.series[start : start + self.width - 1]
        return {"past": past, "next": self.series[start + self.width]}


def main() -> None:
    torch.manual_seed(1)
    series = torch.sin(torch.arange(400) * math.tau / 25) + 0.05 * torch.randn(400)
    net = nn.Sequential(nn.Linear(24, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for batch in DataLoader(Windows(series, 24), batch_size=25, shuffle=True):
        prediction = net(batch["past"]).squeeze(1)  # expect: AD512
        loss = nn.functional.mse_loss(prediction, batch["next"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
