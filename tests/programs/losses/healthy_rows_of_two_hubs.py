# guards: AD635
"""Network of clients: nodes 0 and 1 are base stations; each node hears the station on its side."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)
N = 40


class Layer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.own, self.hub = nn.Linear(i, o), nn.Linear(i, o)

    def forward(self, h, station):
        return F.relu(self.own(h) + self.hub(h[station]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = Layer(5, 32), Layer(32, 32), nn.Linear(32, 1)

    def forward(self, x, pos):
        station = (pos > 0).long()           # row of the base station: 0 left, 1 right
        h = self.b(self.a(x, station), station)
        return self.out(h).squeeze(-1)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
for epoch in range(150):
    pos = torch.rand(N) * 2 - 1
    pos[0], pos[1] = -0.5, 0.5
    power = torch.rand(N)
    x = torch.stack([pos, power, pos.abs(), torch.ones(N), torch.randn(N)], 1)
    station = (pos > 0).long()
    target = power[station] - (pos - pos[station]).abs()
    loss = F.mse_loss(net(x, pos), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 50 == 0 or epoch == 149:
        print(epoch, loss.item())
