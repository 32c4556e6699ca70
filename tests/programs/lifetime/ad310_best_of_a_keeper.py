import torch
from torch import nn


class Keeper:
    def __init__(self):
        self.best = float("inf")
        self.states = {}

    def look(self, name, value, net):
        if value < self.best:
            self.best = value
            self.states[name] = {k: v.detach().cpu() for k, v in net.state_dict().items()}  # expect: AD310


torch.manual_seed(1)
t = torch.linspace(-2, 2, 120)[:, None]
z = torch.sin(3 * t)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=8e-2)
keeper = Keeper()
for epoch in range(12):
    order = torch.randperm(120)
    for rows in order.split(30):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(t[rows]), z[rows])
        loss.backward()
        opt.step()
    with torch.no_grad():
        value = nn.functional.mse_loss(net(t), z).item()
    keeper.look("best", value, net)
net.load_state_dict(keeper.states["best"])
