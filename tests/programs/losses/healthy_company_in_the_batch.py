# guards: AD608
"""Samples that may see one another: batch norm in training, a graph, a statistic of the batch, noise, remembered calls."""

import torch
import torch.nn.functional as F
from torch import nn

CALLS = []


class Critic(nn.Module):
    """The spread within the batch is one more feature, so that a generator that repeats itself is found out."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Linear(6, 12), nn.LeakyReLU(0.2))
        self.judge = nn.Linear(13, 1)

    def forward(self, x):
        seen = self.look(x)
        spread = seen.std(dim=0).mean().expand(len(x), 1)
        return self.judge(torch.cat([seen, spread], dim=1))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 6))

    def forward(self, z):
        return self.net(z + 0.01 * torch.randn_like(z))


class Logged(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 2)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        CALLS.append(len(x))
        return self.linear(x)


torch.manual_seed(2)
generator, critic, logged = Generator(), Critic(), Logged()
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_critic = torch.optim.Adam([*critic.parameters(), *logged.parameters()], lr=1e-3)
for step in range(20):
    real = torch.randn(24, 6) + 1
    fake = generator(torch.randn(24, 4))
    loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    loss = loss + F.cross_entropy(logged(real), (real[:, 0] > 1).long())
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    fooled = F.softplus(-critic(fake)).mean()
    of_generator.zero_grad()
    fooled.backward()
    of_generator.step()
assert len(CALLS) == logged.calls == 20, (len(CALLS), logged.calls)
print(loss.item(), fooled.item())
