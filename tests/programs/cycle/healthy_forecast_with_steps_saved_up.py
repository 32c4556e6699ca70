# guards: AD111
"""A recurrent net of bfloat16 forecasts demand; its steps are saved up until they are large enough for a weight."""

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.read, self.carry, self.tell = nn.Linear(2, 40), nn.Linear(40, 40), nn.Linear(40, 1)

    def forward(self, days):
        state = torch.zeros(len(days), 40, dtype=days.dtype)
        for day in days.unbind(1):
            state = torch.tanh(self.read(day) + self.carry(state))
        return self.tell(state)


class SavingUp(torch.optim.SGD):
    """Plain descent of saved and new steps together; what does not fit into a weight is saved again."""

    @torch.no_grad()
    def step(self, closure=None):
        weights = [p for group in self.param_groups for p in group["params"]]
        before = [p.float() for p in weights]
        due = [group["lr"] * p.grad.float() for group in self.param_groups for p in group["params"]]
        for p, old, step in zip(weights, before, due):
            saved = self.state[p].setdefault("saved", torch.zeros_like(step))
            p.copy_(old - step - saved)
            saved.add_(step).sub_(old - p.float())


torch.manual_seed(0)
model = Forecaster().to(torch.bfloat16)
optimizer = SavingUp(model.parameters(), lr=1e-3)
for _ in range(30):
    phase = 6.28 * torch.rand(32, 1)
    demand = torch.sin(phase + torch.arange(9.0)) + 0.1 * torch.randn(32, 9)
    days = torch.stack([demand[:, :8], torch.arange(8.0).expand(32, 8) / 8], dim=2)
    loss = (model(days.bfloat16()).float() - demand[:, 8:]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
