# guards: AD621
"""Each state of a trajectory gives the next one, state by state; and a table of neighbours is smoothed by a layer that
sees whole rows."""

import torch
from torch import nn

torch.manual_seed(0)
turn = torch.tensor([[0.98, 0.19], [-0.19, 0.98]])
states = [torch.randn(64, 2)]
for _ in range(12):
    states.append(states[-1] @ turn + 0.01 * torch.randn(64, 2))
trajectories = torch.stack(states, 1)
step_of, whole = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)), nn.Linear(12, 12)
for model, data in ((step_of, trajectories), (whole, trajectories[..., 0])):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(25):
        rows = data[torch.randint(0, 64, (32,))]
        loss = (model(rows[:, :-1]) - rows[:, 1:]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
