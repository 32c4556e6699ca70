# guards: AD225
"""Physics-informed DeepONet: the antiderivative of the antiderivative, s'' = f."""
import torch
from torch import nn


class DeepONet(nn.Module):
    def __init__(self, sensors, p=32):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(sensors, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, p))
        self.trunk = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, p))
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.zeros_(self.trunk[-1].weight)
        nn.init.zeros_(self.trunk[-1].bias)

    def forward(self, f, y):
        return (self.branch(f) * self.trunk(y)).sum(-1, keepdim=True) + self.bias


def d(out, wrt):
    return torch.autograd.grad(out, wrt, torch.ones_like(out), create_graph=True, retain_graph=True)[0]


def random_functions(n, grid):
    k = torch.arange(1, 4).float()
    a = torch.randn(n, 3) / k
    return a, (a[:, None, :] * torch.sin(grid[None, :, None] * k * torch.pi)).sum(-1)


torch.manual_seed(0)
grid = torch.linspace(0, 1, 20)
model = DeepONet(20)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
for it in range(50):
    a, f = random_functions(64, grid)
    y = torch.rand(64, 1, requires_grad=True)
    s = model(f, y)
    s_y = d(s, y)
    s_yy = d(s_y, y)
    k = torch.arange(1, 4).float()
    rhs = (a * torch.sin(y.detach() * k * torch.pi)).sum(1, keepdim=True)
    loss_bc = model(f, torch.zeros(64, 1)).square().mean() + model(f, torch.ones(64, 1)).square().mean()
    loss = (s_yy - rhs).square().mean() + loss_bc
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
