"""An agent that learns from a memory and acts on single observations."""

import torch
from torch import nn

torch.manual_seed(1)
actor = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(actor.parameters(), lr=0.02)
memory = torch.randn(200, 3)


def act(observation):
    with torch.no_grad():
        scores = actor(observation.unsqueeze(0))  # expect: AD607
    return int(scores.argmax())


for update in range(20):
    seen = memory[torch.randint(0, 200, (25,))]
    loss = nn.functional.cross_entropy(actor(seen), (seen[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 10 == 9:
        print(update, act(torch.randn(3)))
