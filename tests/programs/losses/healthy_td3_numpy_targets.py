# guards: AD630
import copy

import numpy as np
import torch
from torch import nn

np.random.seed(0)
torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
twins = nn.ModuleList([nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(2)])
actor_target, twins_target = copy.deepcopy(actor), copy.deepcopy(twins)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(twins.parameters(), lr=1e-3)
size = 1000
states = torch.randn(size, 3)
actions = torch.rand(size, 1) * 2 - 1
following = 0.9 * states + 0.3 * torch.randn(size, 3)
rewards = (1 - (actions - states[:, :1].tanh()).pow(2)).squeeze(1)
not_done = torch.rand(size) > 0.1
for step in range(60):
    rows = torch.randint(0, size, (64,))
    s, a, r, s2, alive = states[rows], actions[rows], rewards[rows], following[rows], not_done[rows]
    with torch.no_grad():
        noise = (0.2 * torch.randn(64, 1)).clamp(-0.5, 0.5)
        inputs = torch.cat([s2, (actor_target(s2) + noise).clamp(-1, 1)], dim=1)
        after = torch.minimum(*(twin(inputs) for twin in twins_target)).squeeze(1)
        after[np.flatnonzero(~alive.numpy())] = 0
        target = r + 0.97 * after
    inputs = torch.cat([s, a], dim=1)
    critic_loss = sum(nn.functional.mse_loss(twin(inputs).squeeze(1), target) for twin in twins)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    if step % 2:
        twins.requires_grad_(False)
        actor_loss = -twins[0](torch.cat([s, actor(s)], dim=1)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        twins.requires_grad_(True)
        with torch.no_grad():
            for live, slow in ((actor, actor_target), (twins, twins_target)):
                for p, q in zip(live.parameters(), slow.parameters()):
                    q.lerp_(p, 0.05)
