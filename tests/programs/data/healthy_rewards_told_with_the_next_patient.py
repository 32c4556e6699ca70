# guards: AD726
"""A recurrent policy treats patients drawn at random, and is told with the next one how its last choice went."""

import torch
from torch import nn

torch.manual_seed(0)
patients, cures = torch.randn(200, 6), torch.randint(3, (200,))
cell, head = nn.GRUCell(8, 16), nn.Linear(16, 3)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
hidden, told = torch.zeros(16, 16), torch.zeros(16, 2)
for _ in range(50):
    drawn = torch.randint(200, (16,))
    hidden = cell(torch.cat([patients[drawn], told], dim=1), hidden.detach())
    policy = torch.distributions.Categorical(logits=head(hidden))
    choice = policy.sample()
    reward = (choice == cures[drawn]).float()
    loss = -(policy.log_prob(choice) * (reward - 1 / 3)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    told = torch.stack([reward, choice.float()], dim=1)
