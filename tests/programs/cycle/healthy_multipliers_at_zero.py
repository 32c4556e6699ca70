# guards: AD111
"""A fit under constraints: multipliers that are projected to be no less than 0, of which some stay there."""

import torch
from torch import nn


class Constrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
        self.energy = nn.Parameter(torch.zeros(()))
        self.parity = nn.Parameter(torch.zeros(()))

    def excesses(self, x, out):
        first = x[:, 0] > 0
        return out.square().mean() - 40.0, (out[first].mean() - out[~first].mean()).abs() - 4.0


torch.manual_seed(0)
model = Constrained()
primal = torch.optim.Adam(model.net.parameters(), lr=5e-3)
dual = torch.optim.SGD([model.energy, model.parity], lr=0.05, maximize=True)
true = torch.randn(8, 1)
for step in range(40):
    x = torch.randn(64, 8)
    out = model.net(x)
    energy, parity = model.excesses(x, out)
    loss = nn.functional.mse_loss(out, x @ true) + model.energy * energy + model.parity * parity
    primal.zero_grad()
    dual.zero_grad()
    loss.backward()
    primal.step()
    dual.step()
    with torch.no_grad():
        model.energy.clamp_(min=0)
        model.parity.clamp_(min=0)
    if step % 10 == 0:
        print(step, loss.item(), model.energy.item(), model.parity.item())
