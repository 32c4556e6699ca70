# guards: AD216
# hinted: AD216
"""Generalised EM for a mixture of regressions: which of three physical regimes made a measurement is hidden.

E-step: responsibilities under the present parameters, held fixed.
M-step: one Adam step on the negative free energy  F = E_q[log p(y, z | x)] + H(q).
"""

import math
from typing import NamedTuple

import torch
from torch import nn


class Batch(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


class RegimeMixture(nn.Module):
    def __init__(self, regimes: int, width: int = 24):
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1)) for _ in range(regimes)
        )
        self.log_scale = nn.Parameter(torch.full((regimes,), -0.5))
        self.prior = nn.Parameter(torch.zeros(regimes))

    def log_joint(self, batch: Batch) -> torch.Tensor:
        mean = torch.cat([expert(batch.x) for expert in self.experts], 1)
        scale = self.log_scale.clamp(min=-4).exp()
        log_lik = -0.5 * ((batch.y - mean) / scale) ** 2 - scale.log() - 0.5 * math.log(2 * math.pi)
        return log_lik + self.prior.log_softmax(0)

    @torch.no_grad()
    def posterior(self, batch: Batch) -> torch.Tensor:
        return self.log_joint(batch).softmax(1)


def entropy(q: torch.Tensor) -> torch.Tensor:
    return -(q * q.clamp_min(1e-12).log()).sum(1)


def measurements(n: int) -> tuple[Batch, torch.Tensor]:
    x = torch.rand(n, 1) * 4 - 2
    z = torch.multinomial(torch.tensor([0.5, 0.3, 0.2]), n, replacement=True)
    curves = torch.cat([torch.sin(2 * x), 1.5 - 0.4 * x, x**2 / 2 - 2], 1)
    y = curves.gather(1, z.unsqueeze(1)) + 0.12 * torch.randn(n, 1)
    return Batch(x, y), z


def main() -> None:
    torch.manual_seed(12)
    train, _ = measurements(2000)
    test, z = measurements(500)
    model = RegimeMixture(3)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for sweep in range(24):
        bound = 0.0
        for idx in torch.randperm(2000).split(200):
            batch = Batch(train.x[idx], train.y[idx])
            q = model.posterior(batch)
            expected = (q * model.log_joint(batch)).sum(1).mean()
            free_energy = expected + entropy(q).mean()
            opt.zero_grad()
            (-free_energy).backward()
            opt.step()
            bound += free_energy.item() / 10
        if sweep % 6 == 5:
            with torch.no_grad():
                held_out = model.log_joint(test).logsumexp(1).mean().item()
            print(f"sweep {sweep:2d}  free energy {bound:.4f}  held-out log-likelihood {held_out:.4f}")
    q = model.posterior(test)
    table = torch.zeros(3, 3, dtype=torch.long).index_put_((q.argmax(1), z), torch.tensor(1), accumulate=True)
    print(table)


if __name__ == "__main__":
    main()
