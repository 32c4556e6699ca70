# guards: AD119
"""An agent moves on to a harder arena: Adam keeps its statistics, and each arena has a rate and a decay of its own."""

import io

import torch
from torch import nn

torch.manual_seed(2)
ARENAS = {"easy": (0.2, 3e-3), "hard": (1.0, 1e-3)}
agent, file = nn.Sequential(nn.Linear(4, 20), nn.Tanh(), nn.Linear(20, 2)), None
for noise, rate in ARENAS.values():
    optimizer = torch.optim.Adam(agent.parameters(), lr=rate)
    if file is not None:
        file.seek(0)
        saved = torch.load(file)
        agent.load_state_dict(saved["agent"])
        optimizer.load_state_dict(saved["optimizer"])
        optimizer.param_groups[0].update(lr=rate, initial_lr=rate)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
    for _ in range(18):
        state = torch.randn(40, 4)
        moves = torch.distributions.Categorical(logits=agent(state))
        move = moves.sample()
        gain = ((state[:, 0] + noise * torch.randn(40) > 0) == move.bool()).float()
        loss = -(moves.log_prob(move) * (gain - gain.mean())).mean() - 0.01 * moves.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
    file = io.BytesIO()
    torch.save({"agent": agent.state_dict(), "optimizer": optimizer.state_dict(), "decay": decay.state_dict()}, file)
