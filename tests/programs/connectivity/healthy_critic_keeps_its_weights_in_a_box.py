# guards: AD215
"""Rainfall is imitated under a critic of bounded slope: its forward puts all weights back between -0.1 and 0.1."""
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, box):
        super().__init__()
        self.box = box
        self.net = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, amount):
        with torch.no_grad():
            for weight in self.parameters():
                weight.clamp_(-self.box, self.box)
        return self.net(amount)


torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1), nn.Softplus())
critic = Critic(0.1)
making = torch.optim.RMSprop(maker.parameters(), lr=1e-3)
judging = torch.optim.RMSprop(critic.parameters(), lr=2e-3)
for day in range(12):
    for _ in range(4):
        made = maker(torch.randn(64, 3)).detach()
        fallen = torch.distributions.Gamma(2.0, 1.5).sample((64, 1))
        on_made, on_fallen = critic(torch.cat([made, fallen])).chunk(2)
        gap = on_made.mean() - on_fallen.mean()
        judging.zero_grad()
        gap.backward()
        judging.step()
    critic.requires_grad_(False)
    making.zero_grad()
    (-critic(maker(torch.randn(64, 3))).mean()).backward()
    making.step()
    critic.requires_grad_(True)
