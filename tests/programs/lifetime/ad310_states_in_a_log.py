"""Every epoch's weights are in the trainer's log; the best of them are tested."""
import torch
from torch import nn


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.log = []

    def epoch(self, x, y):
        for rows in torch.randperm(len(x)).split(30):
            self.opt.zero_grad()
            loss = nn.functional.mse_loss(self.net(x[rows]), y[rows])
            loss.backward()
            self.opt.step()
        with torch.no_grad():
            value = nn.functional.mse_loss(self.net(x), y).item()
        self.log.append({"loss": value, "state": {k: v for k, v in self.net.state_dict().items()}})  # expect: AD310


torch.manual_seed(1)
t = torch.linspace(-2, 2, 120)[:, None]
z = torch.sin(3 * t)
trainer = Trainer(nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)))
for epoch in range(12):
    trainer.epoch(t, z)
trainer.net.load_state_dict(trainer.log[4]["state"])
