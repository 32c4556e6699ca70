# guards: AD310
"""Copies of the weights of every epoch, in a list of a trainer; their mean is loaded."""
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
        self.log.append({"state": {k: v.clone() for k, v in self.net.state_dict().items()}})


torch.manual_seed(1)
t = torch.linspace(-2, 2, 120)[:, None]
z = torch.sin(3 * t)
trainer = Trainer(nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)))
for epoch in range(12):
    trainer.epoch(t, z)
states = [entry["state"] for entry in trainer.log[-5:]]
trainer.net.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
