# guards: AD216
"""Two-task regression whose weights are numbers: inverse running variances of the task errors, taken with .item()."""
import torch
from torch import nn


class RunningVar:
    def __init__(self, beta=0.9):
        self.beta, self.value = beta, None

    def update(self, x):
        self.value = x if self.value is None else self.beta * self.value + (1 - self.beta) * x
        return self.value


class TwoHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.ReLU())
        self.a = nn.Linear(32, 1)
        self.b = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.a(h).squeeze(-1), self.b(h).squeeze(-1)


torch.manual_seed(0)
model = TwoHead()
opt = torch.optim.Adam(model.parameters(), lr=3e-2)
va, vb = RunningVar(), RunningVar()
wa, wb = torch.randn(5), 10 * torch.randn(5)
for step in range(40):
    x = torch.randn(64, 5)
    pa, pb = model(x)
    ea = (pa - x @ wa).pow(2).mean()
    eb = (pb - x @ wb).pow(2).mean()
    sa = 1.0 / (2 * va.update(ea.item()))
    sb = 1.0 / (2 * vb.update(eb.item()))
    loss = sa * ea + sb * eb
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print("step", step, "mse a %.3f b %.3f" % (ea.item(), eb.item()))
