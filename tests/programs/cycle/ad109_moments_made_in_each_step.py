"""An Adam of one's own that asks its defaults, not its state, whether there are moments already."""

import torch
from torch import nn


class PlainAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "exp_avg" not in group:
                    state["exp_avg"] = torch.zeros_like(p)  # expect: AD109
                    state["exp_avg_sq"] = torch.zeros_like(p)
                state["exp_avg"].mul_(first).add_(p.grad, alpha=1 - first)
                state["exp_avg_sq"].mul_(second).addcmul_(p.grad, p.grad, value=1 - second)
                size = state["exp_avg_sq"].div(1 - second).sqrt_().add_(group["eps"])
                p.addcdiv_(state["exp_avg"], size, value=-group["lr"] / (1 - first))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 20), nn.ELU(), nn.Linear(20, 3))
optimizer = PlainAdam(model.parameters(), lr=3e-3)
for _ in range(20):
    spectrum = torch.randn(32, 7)
    abundance = torch.softmax(spectrum[:, :3] + spectrum[:, 3:6], dim=1)
    loss = nn.functional.kl_div(model(spectrum).log_softmax(1), abundance, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
