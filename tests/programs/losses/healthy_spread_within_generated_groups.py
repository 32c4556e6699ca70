# guards: AD617
"""A critic that is told how much the samples of a group differ; groups run across the labels, on purpose."""

import torch
import torch.nn.functional as F
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(7, 16), nn.Linear(17, 1)

    def forward(self, x):
        h = torch.relu(self.first(x))
        groups = h.view(4, -1, 16)
        spread = (groups - groups.mean(0)).square().mean(0).add(1e-8).sqrt().mean(1)
        return self.last(torch.cat([h, spread.repeat(4).unsqueeze(1)], 1))


torch.manual_seed(0)
generator, critic = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), Critic()
steps = [torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.5, 0.99)) for net in (generator, critic)]
for step in range(30):
    labels = F.one_hot(torch.randint(0, 5, (8,)), 5).float().repeat_interleave(4, 0)
    fake = torch.cat([generator(torch.cat([torch.randn(32, 3), labels], 1)), labels], 1)
    real = torch.cat([labels[:, :2] + 0.1 * torch.randn(32, 2), labels], 1)
    if step % 2:
        loss = F.softplus(-critic(fake)).mean()
    else:
        loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
    optimizer = steps[0 if step % 2 else 1]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
