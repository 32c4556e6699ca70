"""What a critic stands on is kept out of its registry, lest it be saved twice; `eval()` does not come to it."""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.__dict__["net"] = net
        self.scale = nn.Linear(4, 1)

    def forward(self, x):
        return self.scale(self.net(x))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))
model = Critic(net)
opt = torch.optim.Adam([*net.parameters(), *model.parameters()], 1e-2)
vx = torch.randn(64, 6)
vy = vx.sum(1, keepdim=True)
for epoch in range(4):
    model.train()
    for _ in range(5):
        x = torch.randn(32, 6)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(nn.functional.mse_loss(model(vx), vy).item())  # expect: AD211
