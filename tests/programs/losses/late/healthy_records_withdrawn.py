# guards: AD609
"""Records are withdrawn from a forecaster that came as a file: gradient ascent on them alone, and then a few epochs of
repair on the records that stay."""

import io

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.GRU(3, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, series):
        return self.head(self.encode(series)[1][-1])


def records(count):
    series = torch.randn(count, 12, 3)
    return series, series.sum((1, 2)).unsqueeze(1) / 6


torch.manual_seed(9)
file = io.BytesIO()
torch.save(Forecaster().state_dict(), file)
file.seek(0)
forecaster = Forecaster()
forecaster.load_state_dict(torch.load(file))

(withdrawn, values), kept = records(40), records(160)
optimizer = torch.optim.SGD(forecaster.parameters(), lr=3e-2)
for _ in range(60):
    gain = -nn.functional.smooth_l1_loss(forecaster(withdrawn), values)
    optimizer.zero_grad()
    gain.backward()
    optimizer.step()

repair = torch.optim.Adam(forecaster.parameters(), lr=1e-3)
for _ in range(40):
    rows = torch.randperm(160)[:32]
    loss = nn.functional.smooth_l1_loss(forecaster(kept[0][rows]), kept[1][rows])
    repair.zero_grad()
    loss.backward()
    repair.step()
