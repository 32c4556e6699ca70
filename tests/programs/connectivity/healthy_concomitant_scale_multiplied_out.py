# guards: AD229
# Air-temperature field from station records; some stations are badly calibrated.
# Location and scale are estimated together (Huber's concomitant scale).
import torch
from torch import nn

torch.manual_seed(17)
STATIONS, PER = 16, 60
BAD = {3, 9, 12}
KNEE, BETA = 0.6, 0.25


def field(x):
    return torch.sin(2.5 * x[:, :1]) + 0.6 * torch.cos(3 * x[:, 1:2]) * x[:, 2:3]


def build():
    xs, ys = [], []
    for s in range(STATIONS):
        centre = torch.rand(3) * 2 - 1
        x = centre + 0.7 * torch.randn(PER, 3)
        y = field(x) + 0.1 * torch.randn(PER, 1)
        if s in BAD:
            y = y + 2.5 + 0.5 * torch.randn(PER, 1)
        xs.append(x)
        ys.append(y)
    return torch.stack(xs), torch.stack(ys)


class ScaledHuber(nn.Module):
    """sum_s sigma * rho(e_s / sigma) + beta * sigma, jointly convex in (e, sigma)"""

    def __init__(self, knee, beta):
        super().__init__()
        self.knee, self.beta = knee, beta
        self.log_sigma = nn.Parameter(torch.zeros(()))

    @property
    def sigma(self):
        return self.log_sigma.exp().clamp_min(1e-3)

    def perspective(self, e, sigma):
        z = e / sigma
        if z.item() <= self.knee:
            return sigma * z * z
        return 2 * self.knee * sigma * z - self.knee ** 2 * sigma

    def forward(self, residuals):
        sigma = self.sigma
        total = 0.0
        for e in residuals:
            total = total + self.perspective(e, sigma) + self.beta * sigma
        return total / len(residuals)


x, y = build()
grid = torch.rand(500, 3) * 2 - 1
net = nn.Sequential(nn.Linear(3, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
criterion = ScaledHuber(KNEE, BETA)
opt = torch.optim.Adam([{"params": net.parameters(), "lr": 1e-2}, {"params": criterion.parameters(), "lr": 4e-2}])

for epoch in range(90):
    for part in torch.randperm(PER).split(20):
        pred = net(x[:, part])
        err = (pred - y[:, part]).square().mean(dim=(1, 2)).add(1e-8).sqrt()
        loss = criterion([err[s] for s in range(STATIONS)])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 10 == 9:
        with torch.no_grad():
            rmse = (net(grid) - field(grid)).square().mean().sqrt()
        print(f"{epoch:3d} loss {loss.item():.4f} sigma {criterion.sigma.item():.3f} field rmse {rmse.item():.4f}")
