# guards: AD204 AD220
"""A network for the equation u' = u that keeps the points at which it is differentiated as an attribute."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Physics(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
        self.points = torch.linspace(0, 1, 20).unsqueeze(1).requires_grad_()

    def forward(self):
        u = self.net(self.points)
        (slope,) = torch.autograd.grad(u.sum(), self.points, create_graph=True)
        start = self.net(torch.zeros(1, 1)) - 1
        return (slope - u).pow(2).mean() + start.pow(2).mean()


model = Physics()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(20):
    loss = model()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
