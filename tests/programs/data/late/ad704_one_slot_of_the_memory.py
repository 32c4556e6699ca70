"""A replay of transitions; once it is full, batches are drawn from a window of one slot."""

import torch
from torch import nn

torch.manual_seed(0)
CAPACITY, BATCH = 400, 16
states, rewards = torch.zeros(CAPACITY, 4), torch.zeros(CAPACITY)
value = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(value.parameters(), lr=1e-3)
state, pushed = torch.zeros(4), 0


def sample():
    newest = min(pushed, CAPACITY) - 1
    oldest = min(pushed // 2, CAPACITY - 1) if pushed >= CAPACITY else 0
    return torch.randint(min(oldest * 2, newest), newest + 1, (BATCH,))


for step in range(160):
    for _ in range(8):
        state = 0.9 * state + torch.randn(4)
        at = pushed % CAPACITY
        states[at], rewards[at] = state, state.sum()
        pushed += 1
    rows = sample()
    loss = nn.functional.mse_loss(value(states[rows]).squeeze(1), rewards[rows])  # expect: AD704
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
