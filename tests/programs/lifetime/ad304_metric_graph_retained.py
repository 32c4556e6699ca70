"""An actor and a critic on separate networks; the critic's backward retains a graph that nobody needs."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2))
critic = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=5e-3)

for update in range(30):
    obs = torch.randn(64, 3)
    dist, value = Categorical(logits=actor(obs)), critic(obs).squeeze(1)
    action = dist.sample()
    reward = (action == (obs[:, 0] > 0)).float()
    value_loss = nn.functional.mse_loss(value, reward)
    policy_loss = -(dist.log_prob(action) * (reward - value.detach())).mean()
    optimizer.zero_grad()
    value_loss.backward(retain_graph=True)  # expect: AD304
    policy_loss.backward()
    optimizer.step()
    if update % 10 == 0:
        print(update, reward.mean().item())
