# guards: AD619
"""Rents of flats: the errors are to be unrelated to a group, noise follows their size, and an episode counts as one."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(2)
rent = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1), nn.Flatten(0))
agent = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam([*rent.parameters(), *agent.parameters()], lr=5e-3)
for step in range(40):
    flat = torch.randn(32, 5)
    paid, group = flat[:, 0] - flat[:, 1].abs() + 0.1 * torch.randn(32), (flat[:, 2] > 0).float()
    errors = (rent(flat) - paid).square()
    together = (errors * group).mean() - (errors.mean() * group).mean()

    rough = (rent(flat) - paid).abs().mean()
    jitter = rough * torch.randn(32)
    steadied = (rent(flat) + jitter - paid).square().mean()

    places = torch.randn(12, 3)
    choice = Categorical(logits=agent(places))
    taken = choice.sample()
    rewards = (taken == (places[:, 0] > 0)).float() - 0.5
    episode = -(choice.log_prob(taken).sum() * rewards / 12).sum()

    loss = errors.mean() + together.abs() + 0.1 * steadied + 0.1 * episode
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
