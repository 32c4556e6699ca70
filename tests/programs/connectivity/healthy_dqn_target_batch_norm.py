# guards: AD214
"""Deep Q-learning with batch-norm; the frozen target network is loaded from the online one every few updates."""
import random

import torch
from torch import nn


def q_network():
    return nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))


random.seed(0)
torch.manual_seed(0)
online, target = q_network(), q_network()
target.load_state_dict(online.state_dict())
target.requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
memory = []
state = torch.zeros(4)
for _ in range(400):
    action = random.randrange(2)
    after = (0.9 * state + 0.2 * torch.randn(4) + 0.1 * (2 * action - 1)).clamp(-2, 2)
    memory.append((state, action, float(1.0 - after.abs().mean()), after))
    state = after

for update in range(40):
    states, actions, rewards, afters = zip(*random.sample(memory, 32))
    with torch.no_grad():
        best = target(torch.stack(afters)).max(dim=1).values
        wanted = torch.tensor(rewards) + 0.9 * best
    chosen = online(torch.stack(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(chosen, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 15 == 14:
        target.load_state_dict(online.state_dict())
print(loss.item())
