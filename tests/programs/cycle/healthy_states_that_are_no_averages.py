# guards: AD109
"""Optimizers of one's own: averages that go on, last gradients and last updates, and averages restarted for a block."""

import torch
from torch import nn


class Own(torch.optim.Optimizer):
    def __init__(self, params, lr=0.05, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, self.state[p], group["lr"], group["momentum"])


class SignOfAverage(Own):
    def update(self, p, state, rate, beta):
        if "average" not in state:
            state["average"] = torch.zeros_like(p)
        p.sub_(state["average"].mul_(beta).add_(p.grad, alpha=1 - beta).sign(), alpha=0.1 * rate)


class FunctionalAverage(Own):
    """A new tensor in each step, which goes on from the old one."""

    def update(self, p, state, rate, beta):
        state["average"] = beta * state.get("average", 0.0) + (1 - beta) * p.grad
        p.sub_(rate * state["average"])


class SecantRate(Own):
    """The rate of Barzilai and Borwein, from the last gradient and the last weights."""

    def update(self, p, state, rate, beta):
        if "gradient" in state:
            change, turn = p - state["weights"], p.grad - state["gradient"]
            rate = min(rate, float((change * change).sum() / (change * turn).sum().abs().clamp_min(1e-6)))
        state["gradient"], state["weights"] = p.grad.clone(), p.clone()
        p.sub_(rate * p.grad)


class LastUpdate(Own):
    """With a rate that happens to be 1 - momentum."""

    def update(self, p, state, rate, beta):
        update = rate * p.grad
        p.sub_(update + (1 - beta) * state.get("update", 0.0))
        state["update"] = update


class BlockAverage(Own):
    """The average is that of every other step: it begins anew on purpose."""

    def update(self, p, state, rate, beta):
        state["count"] = state.get("count", 0) + 1
        if state["count"] % 2:
            state["average"] = torch.zeros_like(p)
        p.sub_(state["average"].mul_(beta).add_(p.grad, alpha=1 - beta), alpha=rate)


torch.manual_seed(0)
for kind, settings in (
    (SignOfAverage, {}),
    (FunctionalAverage, {}),
    (SecantRate, {}),
    (LastUpdate, {"lr": 0.125, "momentum": 0.875}),
    (BlockAverage, {}),
):
    model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = kind(model.parameters(), **settings)
    for _ in range(6):
        x = torch.randn(24, 5)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
