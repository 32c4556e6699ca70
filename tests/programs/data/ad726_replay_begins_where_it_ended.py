"""A recurrent critic replays episodes drawn at random; its hidden state is an attribute that nobody resets."""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(5, 16), nn.Linear(16, 3)
        self.hidden = None

    def forward(self, episodes):
        hidden = torch.zeros(episodes.shape[1], 16) if self.hidden is None else self.hidden
        worth = []
        for observation in episodes:
            hidden = self.cell(observation, hidden)  # expect: AD726
            worth.append(self.head(hidden))
        self.hidden = hidden.detach()
        return torch.stack(worth)


torch.manual_seed(0)
observations, rewards = torch.randn(200, 6, 5), torch.randn(200, 6)
actions = torch.randint(3, (200, 6))
critic = Critic()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(30):
    chosen = torch.randint(200, (16,))
    worth = critic(observations[chosen].transpose(0, 1)).gather(2, actions[chosen].t()[..., None])
    loss = (worth[..., 0] - rewards[chosen].t()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
