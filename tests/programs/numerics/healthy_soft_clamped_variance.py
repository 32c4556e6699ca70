# guards: AD401 AD402
"""Mean and variance regression."""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(10)
LO, HI = -6.0, 3.0


def sample(n):
    x = torch.distributions.StudentT(df=1.0).sample((n, 5))
    y = torch.tanh(x[:, 0]) + 0.5 * torch.sin(x[:, 1]) + 0.1 * (1 + torch.tanh(x[:, 2])) * torch.randn(n)
    return x, y


class MeanVar(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.mean = nn.Linear(48, 1)
        self.logvar = nn.Linear(48, 1)

    def forward(self, x):
        h = self.net(torch.sign(x) * torch.log1p(x.abs()))
        lv = self.logvar(h).squeeze(-1)
        lv = HI - F.softplus(HI - lv)
        lv = LO + F.softplus(lv - LO)
        return self.mean(h).squeeze(-1), lv


def gaussian_nll(mu, logvar, y):
    precision = torch.exp(-logvar)
    return 0.5 * (logvar + precision * (y - mu) ** 2)


def main():
    model = MeanVar()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(400):
        x, y = sample(64)
        mu, logvar = model(x)
        per_sample = gaussian_nll(mu, logvar, y)
        loss = per_sample.mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 25 == 0:
            print(f"{step:4d} nll {loss.item():.4f} median {per_sample.median().item():.4f}")


if __name__ == "__main__":
    main()
