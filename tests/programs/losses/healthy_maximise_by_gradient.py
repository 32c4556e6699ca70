# guards: AD631
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
mean = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(1))
optimizer = torch.optim.Adam([*mean.parameters(), log_std], lr=3e-3)
moving = 0.0
for step in range(60):
    states = torch.randn(64, 3)
    policy = Normal(mean(states), log_std.exp())
    actions = policy.sample()
    reward = -(actions - states[:, :1]).pow(2).squeeze(1)
    moving = 0.9 * moving + 0.1 * reward.mean().item()
    objective = (policy.log_prob(actions).squeeze(1) * (reward - moving)).mean() + 0.01 * policy.entropy().mean()
    optimizer.zero_grad()
    objective.backward(gradient=torch.tensor(-1.0))
    optimizer.step()
