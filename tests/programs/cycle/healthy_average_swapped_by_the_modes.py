# guards: AD126
"""An average of weights takes their place at `eval()`, and gives it back at `train()`."""
import copy

import torch
from torch import nn


class Averaged(nn.Module):
    def __init__(self, net, decay=0.9):
        super().__init__()
        self.net = net
        self.shadow = copy.deepcopy(net).requires_grad_(False)
        self.decay = decay
        self.kept = None

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.shadow.parameters(), self.net.parameters()):
            slow.lerp_(fast, 1 - self.decay)

    def train(self, mode=True):
        if not mode and self.kept is None:
            self.kept = [fast.detach().clone() for fast in self.net.parameters()]
            for fast, slow in zip(self.net.parameters(), self.shadow.parameters()):
                fast.data.copy_(slow.data)
        elif mode and self.kept is not None:
            for fast, own in zip(self.net.parameters(), self.kept):
                fast.data.copy_(own)
            self.kept = None
        return super().train(mode)

    def forward(self, x):
        return self.net(x)


torch.manual_seed(6)
speed = torch.rand(288, 3) * 2 - 1
drag = speed.pow(2).sum(1, keepdim=True) + 0.3 * speed[:, :1]
model = Averaged(nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1)))
optimizer = torch.optim.Adam(model.net.parameters(), lr=0.01)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(256).split(32):
        loss = nn.functional.mse_loss(model(speed[rows]), drag[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.follow()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(speed[256:]), drag[256:]).item())
