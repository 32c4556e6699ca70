# guards: AD304
"""An actor and a critic on a shared network with one sum of losses."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
shared = nn.Sequential(nn.Linear(3, 24), nn.Tanh())
actor, critic = nn.Linear(24, 2), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*shared.parameters(), *actor.parameters(), *critic.parameters()], lr=5e-3)

for update in range(30):
    obs = torch.randn(64, 3)
    features = shared(obs)
    dist, value = Categorical(logits=actor(features)), critic(features).squeeze(1)
    action = dist.sample()
    reward = (action == (obs[:, 0] > 0)).float()
    value_loss = nn.functional.mse_loss(value, reward)
    policy_loss = -(dist.log_prob(action) * (reward - value.detach())).mean()
    optimizer.zero_grad()
    (policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()).backward()
    optimizer.step()
    if update % 10 == 0:
        print(update, reward.mean().item())
