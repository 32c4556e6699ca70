# guards: AD202
import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
for _ in range(10):
    state = torch.randn(32, 4)
    policy = torch.distributions.Categorical(logits=actor(state))
    action = policy.sample()
    returns = state[:, 0] * (2 * action - 1).float() + 0.1 * torch.randn(32)
    value = critic(state).squeeze(1)
    advantage = returns - value.detach()
    loss = -(policy.log_prob(action) * advantage).mean() + nn.functional.mse_loss(value, returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
