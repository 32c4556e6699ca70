# guards: AD618
"""The squared Bellman residual of a board on which moves have no chance in them, so that its gradient has no bias."""

import torch
from torch import nn

SIDE, GAMMA = 4, 0.9
GOAL = SIDE * SIDE - 1
MOVES = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])


def play(cell, action):
    place = torch.stack([cell // SIDE, cell % SIDE], 1) + MOVES[action]
    place = place.clamp(0, SIDE - 1)
    after = place[:, 0] * SIDE + place[:, 1]
    return after, (after == GOAL).float() - 0.05


class Values(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.Embedding(SIDE * SIDE, 24)
        self.head = nn.Sequential(nn.Tanh(), nn.Linear(24, 4))

    def forward(self, cell):
        return self.head(self.cells(cell))


torch.manual_seed(3)
values = Values()
optimizer = torch.optim.Adam(values.parameters(), lr=1e-2)
for step in range(50):
    cell, action = torch.randint(0, GOAL, (512,)), torch.randint(0, 4, (512,))
    after, reward = play(cell, action)
    chosen = values(cell).gather(1, action[:, None]).squeeze(1)
    best = values(after).amax(1)
    residual = reward + GAMMA * (after != GOAL) * best - chosen
    loss = residual.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
