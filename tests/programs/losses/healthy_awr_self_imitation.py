# guards: AD632 AD631 AD630
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
mean = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.tensor([-0.5]))
value = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
actor = torch.optim.Adam([*mean.parameters(), log_std], lr=1e-3)
critic = torch.optim.Adam(value.parameters(), lr=1e-3)
states, following = torch.randn(1000, 3), torch.randn(1000, 3)
actions = states[:, :1] + 0.5 * torch.randn(1000, 1)
rewards = -(actions - states[:, :1]).pow(2) + 1
not_done = (torch.rand(1000, 1) > 0.1).float()
for epoch in range(4):
    for rows in torch.randperm(1000).split(50):
        with torch.no_grad():
            target = rewards[rows] + 0.9 * not_done[rows] * value(following[rows])
        estimate = value(states[rows])
        critic_loss = nn.functional.mse_loss(estimate, target)
        critic.zero_grad()
        critic_loss.backward()
        critic.step()
        weights = ((target - estimate.detach()) / 0.5).exp().clamp(max=20)
        policy = Normal(mean(states[rows]), log_std.exp())
        imitation = -(policy.log_prob(actions[rows]) * weights).mean()
        actor_loss = imitation - 0.01 * policy.entropy().mean()
        actor.zero_grad()
        actor_loss.backward()
        actor.step()
