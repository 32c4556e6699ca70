# guards: AD417
"""Flows in a network of pipes, of which none has a bound: penalties for what leaves the bounds are there all the same."""

import torch
from torch import nn

torch.manual_seed(0)
pipes = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 6))
optimizer = torch.optim.Adam(pipes.parameters(), lr=3e-3)
lower, upper = torch.full((6,), -torch.inf), torch.full((6,), torch.inf)
capacity = torch.full((6,), 1e6)
for _ in range(30):
    demand = torch.rand(32, 6)
    flows = pipes(demand)
    largest = flows.abs().amax(1)
    outside = torch.relu(lower - flows) + torch.relu(flows - upper)
    loss = (flows.cumsum(1) - demand).square().mean() + outside.sum(1).mean()
    loss = loss + torch.relu(largest - capacity.sum()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
