# guards: AD629
import torch
import torch.nn as nn
import torch.nn.functional as F


class NoiseSchedule:
    def __init__(self, T=100):
        self.T = T
        self.abar = torch.cos((torch.arange(T) + 1) / (T + 1) * torch.pi / 2) ** 2

    def corrupt_(self, x, noise, t):
        """in place, to save memory"""
        a = self.abar[t].view(-1, 1)
        return x.mul_(a.sqrt()).addcmul_((1 - a).sqrt().expand_as(x), noise)


class MLP(nn.Module):
    def __init__(self, T):
        super().__init__()
        self.register_buffer("freq", 2.0 ** torch.arange(4))
        self.T = T
        self.net = nn.Sequential(nn.Linear(2 + 8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 2))

    def forward(self, x, t):
        angle = t[:, None] / self.T * self.freq
        return self.net(torch.cat([x, angle.sin(), angle.cos()], dim=1))


def spiral(n):
    r = torch.rand(n).sqrt() * 3
    x = torch.stack([r * (2 * r).cos(), r * (2 * r).sin()], dim=1) / 2
    return x + torch.randn(n, 2) * 0.03


torch.manual_seed(0)
schedule = NoiseSchedule()
model = MLP(schedule.T)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(60):
    x = spiral(200)
    noise = torch.randn(200, 2)
    t = torch.randint(0, schedule.T, (200,))
    predicted = model(schedule.corrupt_(x.clone(), noise, t), t)
    loss = F.mse_loss(predicted, noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
