# guards: AD210
# hinted: AD210
"""A policy imitates with dropout, is measured, and then learns from rewards with the mode that it acts in."""

import torch
from torch import nn

torch.manual_seed(0)
ACTIONS = 4
better = torch.randn(6, ACTIONS)
policy = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, ACTIONS))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)

for _ in range(12):
    state = torch.randn(32, 6)
    imitation = nn.functional.cross_entropy(policy(state), (state @ better).argmax(1))
    optimizer.zero_grad()
    imitation.backward()
    optimizer.step()

policy.eval()
with torch.no_grad():
    state = torch.randn(200, 6)
    print("agrees:", (policy(state).argmax(1) == (state @ better).argmax(1)).float().mean().item())

for _ in range(12):
    state = torch.randn(32, 6)
    with torch.no_grad():
        action = torch.distributions.Categorical(logits=policy(state)).sample()
    reward = (state @ better).gather(1, action[:, None]).squeeze(1)
    log_probability = policy(state).log_softmax(1).gather(1, action[:, None]).squeeze(1)
    objective = -((reward - reward.mean()) * log_probability).mean()
    optimizer.zero_grad()
    objective.backward()
    optimizer.step()
