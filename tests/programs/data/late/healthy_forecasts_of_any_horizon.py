# guards: AD708
"""Forecasts whose horizon is drawn for each batch, is one more in each epoch, or is given to the model."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)
torch.manual_seed(3)
level = np.cumsum(rng.normal(size=420)).astype(np.float32) * 0.1
windows = np.stack([level[at : at + 16] for at in range(400)])


class Rollout(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
        self.steps = 1

    def forward(self, x):
        for _ in range(self.steps):
            x = torch.cat([x[:, 1:], x[:, -1:] + self.step(x)], 1)
        return x[:, -1]


def fit(horizon_of, epochs, model, tell):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for rows in np.split(rng.permutation(400), 8):
            ahead = horizon_of(epoch)
            tell(model, ahead)
            loss = nn.functional.mse_loss(
                model(torch.from_numpy(windows[rows])).view(-1), torch.from_numpy(level[rows + 15 + ahead])
            )
            opt.zero_grad()
            loss.backward()
            opt.step()


fit(lambda epoch: int(rng.integers(1, 5)), 10, Rollout(), lambda model, ahead: setattr(model, "steps", ahead))
fit(lambda epoch: 1 + epoch % 4, 8, Rollout(), lambda model, ahead: setattr(model, "steps", ahead))
plain = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
fit(lambda epoch: 1 + epoch % 4, 8, plain, lambda model, ahead: None)
