"""An actor learns from a fixed log, weighted by importance and advantage; the behaviour is the actor itself."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
states = torch.randn(200, 4)
actions = states[:, :1] + 0.5 * torch.randn(200, 1)
returns = -(actions - states[:, 1:2]).square().squeeze(1)
actor, critic = nn.Linear(4, 1), nn.Linear(4, 1)
behaviour = actor
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=5e-3)
for step in range(40):
    rows = torch.randint(200, (50,))
    x, a, gained = states[rows], actions[rows], returns[rows]
    value = critic(x).squeeze(1)
    log_prob = Normal(actor(x), 0.5).log_prob(a).squeeze(1)
    with torch.no_grad():
        logged = Normal(behaviour(x), 0.5).log_prob(a).squeeze(1)
        weight = (log_prob - logged).exp().clamp(max=5.0)  # expect: AD224
        advantage = gained - value
        weight = weight * (advantage / advantage.std()).exp().clamp(max=5.0)
    loss = -(weight * log_prob).mean() + 0.5 * (value - gained).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
