# guards: AD618
"""The concentration of a drug: its decay from one hour to the next holds between the few blood samples, too."""

import torch
from torch import nn

KEPT, HOURS = 0.85, 48

torch.manual_seed(0)
doses = torch.zeros(HOURS - 1)
doses[::8] = 2 + torch.rand(6)
course = torch.zeros(HOURS)
for hour in range(1, HOURS):
    course[hour] = KEPT * course[hour - 1] + doses[hour - 1]
drawn = torch.arange(1, HOURS, 6)
measured = course[drawn] + 0.1 * torch.randn(len(drawn))


class Concentration(nn.Module):
    def __init__(self, waves=12):
        super().__init__()
        self.register_buffer("waves", torch.arange(1, waves + 1) * 6.283 / HOURS)
        self.net = nn.Sequential(nn.Linear(2 * waves, 32), nn.Tanh(), nn.Linear(32, 1), nn.Softplus())

    def forward(self, hour):
        angle = hour.float()[:, None] * self.waves
        return self.net(torch.cat([angle.sin(), angle.cos()], 1)).squeeze(1)


model = Concentration()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(40):
    hour = torch.randint(0, HOURS - 1, (32,))
    expected = KEPT * model(hour) + doses[hour]
    balance = nn.functional.mse_loss(model(hour + 1), expected)
    likelihood = torch.distributions.Normal(model(drawn), 0.2).log_prob(measured).mean()
    optimizer.zero_grad()
    (5 * balance - likelihood).backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, balance.item(), likelihood.item())
