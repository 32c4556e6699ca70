# guards: AD218
"""Travel-time prediction.  A heteroscedastic teacher fits the data; a light quantile network is distilled from draws
of the teacher for roads that have not been measured."""
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Options:
    quantiles: tuple = (0.1, 0.5, 0.9)
    steps: int = 500
    batch: int = 96
    lr: float = 3e-3
    seed: int = 0


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Joint(nn.Module):
    def __init__(self, o: Options):
        super().__init__()
        self.teacher, self.student = mlp(4, 64, 2), mlp(4, 16, len(o.quantiles))
        self.register_buffer("tau", torch.tensor(o.quantiles))

    def gaussian(self, x):
        mean, raw = self.teacher(x).chunk(2, dim=1)
        return mean, nn.functional.softplus(raw) + 0.05

    def pinball(self, x, y):
        e = y - self.student(x)
        return torch.maximum(self.tau * e, (self.tau - 1) * e).mean()

    def forward(self, measured, times, unmeasured):
        both = torch.cat([measured, unmeasured])
        mean, std = self.gaussian(both)
        n = len(measured)
        fit = nn.functional.gaussian_nll_loss(mean[:n], times, std[:n] ** 2)
        labels = torch.normal(mean, std)
        return fit, self.pinball(both, labels)


def roads(n):
    x = torch.randn(n, 4)
    y = x[:, :1] + 0.5 * x[:, 1:2] * x[:, 2:3] + (0.2 + 0.4 * torch.sigmoid(2 * x[:, 3:])) * torch.randn(n, 1)
    return x, y


if __name__ == "__main__":
    o = Options()
    torch.manual_seed(o.seed)
    model = Joint(o)
    optimizer = torch.optim.AdamW(model.parameters(), lr=o.lr)
    tx, ty = roads(2000)
    for step in range(1, o.steps + 1):
        x, y = roads(o.batch)
        fit, distil = model(x, y, roads(o.batch)[0])
        optimizer.zero_grad()
        (fit + distil).backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                cover = (ty < model.student(tx)).float().mean(0)
                print(f"{step}: nll {fit.item():.3f} pinball {distil.item():.4f} coverage {[round(c, 2) for c in cover.tolist()]}")
