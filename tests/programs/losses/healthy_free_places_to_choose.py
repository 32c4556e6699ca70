# guards: AD625
"""A shelf is filled from the left; a policy scores its free places, and puts the next box on one of them."""

import torch
from torch import nn

FREE, PLACES, BATCH = 0, 8, 32


class Shelf(nn.Module):
    def __init__(self):
        super().__init__()
        self.box, self.where = nn.Embedding(6, 16), nn.Parameter(0.1 * torch.randn(PLACES, 16))
        self.net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, shelf, box):
        seen = self.box(shelf) + self.where
        asked = self.box(box)[:, None].expand(-1, PLACES, -1)
        scores = self.net(torch.cat([seen, asked], -1)).squeeze(-1)
        return scores.masked_fill(shelf != FREE, float("-inf"))


torch.manual_seed(1)
policy = Shelf()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for _ in range(40):
    filled = torch.randint(1, PLACES - 1, (BATCH, 1))
    shelf = torch.randint(1, 6, (BATCH, PLACES)).masked_fill(torch.arange(PLACES) >= filled, FREE)
    box = torch.randint(1, 6, (BATCH,))
    choice = torch.distributions.Categorical(logits=policy(shelf, box))
    place = choice.sample()
    wanted = torch.where(box > 3, PLACES - 1, filled[:, 0])
    reward = -(place - wanted).abs() / PLACES
    loss = -(choice.log_prob(place) * (reward - reward.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
