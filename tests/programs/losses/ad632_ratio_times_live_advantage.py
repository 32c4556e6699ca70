import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(8)
mean = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.tensor(-0.5))
optimizer = torch.optim.Adam([{"params": [*mean.parameters(), log_std]}, {"params": value.parameters(), "lr": 2e-3}], lr=1e-3)


def surrogate(states, actions, old, rewards):
    now = Normal(mean(states), log_std.exp()).log_prob(actions)
    ratio = torch.exp(now - old)
    advantage = rewards - value(states)
    clipped = torch.clamp(ratio, 0.8, 1.2)
    return -torch.min(ratio * advantage, clipped * advantage).mean() + 0.5 * (rewards - value(states)).pow(2).mean()  # <- AD632


for iteration in range(5):
    states = torch.randn(96, 2)
    with torch.no_grad():
        behaviour = Normal(mean(states), log_std.exp())
        actions = behaviour.sample()
        old = behaviour.log_prob(actions)
    rewards = -(actions - states.sum(1, keepdim=True)).square()
    for _ in range(4):
        loss = surrogate(states, actions, old, rewards)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
