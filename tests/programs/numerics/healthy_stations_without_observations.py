# guards: AD416
# hinted: AD416
"""Air-quality forecaster for several stations; after each epoch a report by station. A station that
was closed in the validation season has no observations: its line shows a dash and the average goes over the others."""

import math
from statistics import fmean

import torch
from torch import nn

STATIONS = ["Alder", "Birch", "Cedar", "Dogwood", "Elm"]
CLOSED = "Elm"
HISTORY, HORIZON = 24, 6


class Forecaster(nn.Module):
    def __init__(self, stations: int, width: int = 32):
        super().__init__()
        self.site = nn.Embedding(stations, 4)
        self.net = nn.Sequential(nn.Linear(HISTORY + 4, width), nn.ReLU(), nn.Linear(width, HORIZON))

    def forward(self, history, site):
        return self.net(torch.cat([history, self.site(site)], 1)) + history[:, -1:]


def season(days: int, first_hour: int, closed: bool):
    hours = torch.arange(first_hour, first_hour + 24 * days).float()
    series, observed = [], []
    for k, name in enumerate(STATIONS):
        base = (1 + 0.2 * k) * torch.sin(2 * math.pi * (hours + 2 * k) / 24) + 0.5 * torch.sin(
            2 * math.pi * hours / 168
        )
        noise = torch.zeros(len(hours))
        shock = 0.2 * torch.randn(len(hours))
        for t in range(1, len(hours)):
            noise[t] = 0.8 * noise[t - 1] + shock[t]
        series.append(base + noise)
        seen = torch.rand(len(hours)) > 0.05
        observed.append(torch.zeros_like(seen) if closed and name == CLOSED else seen)
    return torch.stack(series), torch.stack(observed)


def windows(series, observed, stride):
    x, y, m, s = [], [], [], []
    filled = torch.where(observed, series, torch.zeros(()))
    for k in range(len(STATIONS)):
        for t in range(0, series.shape[1] - HISTORY - HORIZON, stride):
            x.append(filled[k, t : t + HISTORY])
            y.append(filled[k, t + HISTORY : t + HISTORY + HORIZON])
            m.append(observed[k, t + HISTORY : t + HISTORY + HORIZON])
            s.append(k)
    return torch.stack(x), torch.stack(y), torch.stack(m).float(), torch.tensor(s)


def masked_mse(prediction, target, mask):
    return ((prediction - target).square() * mask).sum() / mask.sum()


@torch.no_grad()
def report(model, data):
    x, y, m, s = data
    model.eval()
    scores = {}
    for k, name in enumerate(STATIONS):
        rows = s == k
        scores[name] = masked_mse(model(x[rows], s[rows]), y[rows], m[rows]).sqrt().item()
    cells = [f"{name} {'-' if math.isnan(v) else f'{v:.3f}'}" for name, v in scores.items()]
    return "  ".join(cells), fmean(v for v in scores.values() if not math.isnan(v))


torch.manual_seed(40)
train = windows(*season(40, 0, closed=False), stride=3)
valid = windows(*season(14, 24 * 40, closed=True), stride=6)
model = Forecaster(len(STATIONS))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
best = float("inf")
for epoch in range(5):
    model.train()
    for idx in torch.randperm(len(train[0])).split(64):
        x, y, m, s = (part[idx] for part in train)
        loss = masked_mse(model(x, s), y, m)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    line, score = report(model, valid)
    best = min(best, score)
    print(f"epoch {epoch}  {line}  | mean RMSE {score:.3f}")
print(f"best {best:.3f}")
