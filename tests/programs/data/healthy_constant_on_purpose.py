# guards: AD704
"""Constants that belong there: start tokens, zero states, an input that stands for nothing, sparse rewards, a memory."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 12)
        self.out = nn.Linear(12, 6)

    def forward(self, step, state):
        state = self.cell(step, state)
        return self.out(state), state


decoder = Decoder()
opt = torch.optim.Adam(decoder.parameters(), lr=1e-2)
sequences = DataLoader(TensorDataset(torch.randn(80, 3, 6)), batch_size=8, shuffle=True)
for (goal,) in sequences:
    step, state = torch.zeros(8, 6), torch.zeros(8, 12)
    loss = 0.0
    for t in range(3):
        step, state = decoder(step, state)
        loss = loss + nn.functional.mse_loss(step, goal[:, t])
    opt.zero_grad()
    loss.backward()
    opt.step()

prior = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 4))
opt = torch.optim.Adam(prior.parameters(), lr=1e-2)
goals = torch.randn(100, 4) * 0.1 + torch.tensor([1.0, 2.0, 3.0, 4.0])
for rows in torch.randperm(100).split(10):
    loss = nn.functional.mse_loss(prior(torch.ones(10, 1)), goals[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()

states, rewards = torch.randn(200, 5), torch.zeros(200)
value = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
opt = torch.optim.Adam(value.parameters(), lr=1e-3)
for _ in range(12):
    rows = torch.randint(0, 200, (16,))
    loss = nn.functional.mse_loss(value(states[rows]), rewards[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
