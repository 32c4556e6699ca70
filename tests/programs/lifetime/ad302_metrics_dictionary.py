"""A dictionary of metrics sums up losses with their graphs, batch after batch."""
import torch
from torch import nn


class Tracker(nn.Module):
    """Follows a moving point from noisy observations."""

    def __init__(self, hidden=16):
        super().__init__()
        self.cell = nn.LSTMCell(2, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, observation, state):
        state = self.cell(observation, state)
        return self.out(state[0]), state


def path(steps, batch):
    velocity = 0.2 * torch.randn(batch, 2)
    return [t * velocity + torch.sin(torch.tensor(t / 3.0)) for t in range(steps)]


torch.manual_seed(0)
model = Tracker()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
metrics = {"loss": 0.0, "batches": 0}
for iteration in range(25):
    state = (torch.zeros(16, 16), torch.zeros(16, 16))
    window_loss = 0.0
    for point in path(8, 16):
        estimate, state = model(point + 0.1 * torch.randn(16, 2), state)
        window_loss = window_loss + nn.functional.mse_loss(estimate, point)
    optimizer.zero_grad()
    window_loss.backward()
    optimizer.step()
    metrics["loss"] += window_loss  # expect: AD302
    metrics["batches"] += 1
    if iteration % 8 == 0:
        print(iteration, metrics["loss"].item() / metrics["batches"])
