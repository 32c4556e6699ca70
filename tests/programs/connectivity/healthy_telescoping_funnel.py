# guards: AD229
"""Budgeted campaign targeting: who should be reached so that the funnel converts best."""
from typing import Dict, List

import torch
from torch import nn, Tensor

STAGES: List[str] = ["click", "cart", "purchase"]
torch.manual_seed(21)


def simulate_logs(n: int, dim: int, gen: torch.Generator):
    users = torch.randn(n, dim, generator=gen)
    w = torch.randn(dim, len(STAGES), generator=gen)
    p = torch.sigmoid(users @ w * 0.8 - 0.3)
    outcome = (torch.rand(p.shape, generator=gen) < p).float()
    return users, outcome, p


class Responses(nn.Module):
    """P(stage | previous stage reached, user)"""

    def __init__(self, dim: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, len(STAGES)))

    def forward(self, users: Tensor) -> Tensor:
        return self.net(users)


class Targeting(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, users: Tensor) -> Tensor:
        return torch.sigmoid(self.net(users).squeeze(-1))


def funnel(reach: Tensor, probs: Tensor):
    """Expected head count at each stage and the rate from stage to stage."""
    counts = [reach.sum()]
    alive = reach
    for s in range(probs.shape[1]):
        alive = alive * probs[:, s]
        counts.append(alive.sum())
    rates: Dict[str, Tensor] = {}
    overall = 1.0
    for name, before, after in zip(STAGES, counts[:-1], counts[1:]):
        rates[name] = after / before
        overall = overall * rates[name]
    return overall, rates


def stage_nll(logits: Tensor, outcome: Tensor) -> Tensor:
    eligible = torch.cat([torch.ones(len(outcome), 1), outcome[:, :-1].cumprod(dim=1)], dim=1)
    nll = nn.functional.binary_cross_entropy_with_logits(logits, outcome, reduction="none")
    return (nll * eligible).sum() / eligible.sum()


def main() -> None:
    gen = torch.Generator().manual_seed(4)
    users, outcome, truth = simulate_logs(2000, 8, gen)
    responses, targeting = Responses(8), Targeting(8)
    fit = torch.optim.Adam(responses.parameters(), lr=5e-3)
    for epoch in range(8):
        for idx in torch.randperm(len(users)).split(200):
            loss = stage_nll(responses(users[idx]), outcome[idx])
            fit.zero_grad()
            loss.backward()
            fit.step()
    print("response nll", round(loss.item(), 4))

    budget = 0.25
    responses.requires_grad_(False)
    plan = torch.optim.Adam(targeting.parameters(), lr=1e-2)
    for epoch in range(12):
        for idx in torch.randperm(len(users)).split(250):
            reach = targeting(users[idx])
            overall, rates = funnel(reach, responses(users[idx]).sigmoid())
            overspend = torch.relu(reach.mean() - budget)
            underspend = torch.relu(budget - reach.mean())
            loss = -overall + 2.0 * (overspend + underspend)
            plan.zero_grad()
            loss.backward()
            plan.step()
        with torch.no_grad():
            real, real_rates = funnel(targeting(users), truth)
        line = " ".join(f"{k} {v:.3f}" for k, v in real_rates.items())
        print(f"epoch {epoch:2d} conversion {real:.3f} reach {targeting(users).mean():.3f} | {line}")


if __name__ == "__main__":
    main()
