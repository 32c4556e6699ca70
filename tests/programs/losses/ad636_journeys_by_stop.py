"""Will a bus journey end late? Delays at its stops, as many as it has, copied into one array for each batch."""
import random

import torch
from torch import nn


def journey(rng):
    stops = rng.randint(4, 15)
    drift = rng.choice([-0.3, 0.4])
    delay, delays = 0.0, []
    for _ in range(stops):
        delay += drift + rng.gauss(0, 0.5)
        delays.append([delay, rng.random()])
    return torch.tensor(delays), float(delay > 0)


def as_arrays(journeys):
    most = max(delays.shape[0] for delays, _ in journeys)
    table = torch.zeros(most, len(journeys), 2)
    for column, (delays, _) in enumerate(journeys):
        table[: len(delays), column] = delays
    return table, torch.tensor([late for _, late in journeys])


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(2, 20, nonlinearity="tanh")
        self.late = nn.Linear(20, 1)

    def forward(self, table):
        along, _ = self.rnn(table)
        return self.late(along[-1]).flatten()  # <- AD636


rng = random.Random(3)
torch.manual_seed(3)
model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(50):
    table, late = as_arrays([journey(rng) for _ in range(24)])
    loss = nn.functional.binary_cross_entropy_with_logits(model(table), late)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
