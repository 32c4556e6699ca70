# guards: AD708
"""Signals that share their places, texts that share their numbers, and what is told to a model besides tensors."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(6)
torch.manual_seed(6)


def learn(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


# Pictures of 16 grey values, each with a code of its own; all of them have the same places.
places = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 11), torch.linspace(-1, 1, 13), indexing="ij"), -1).view(-1, 2)
pictures = (rng.integers(0, 16, (8, len(places))) / 16).astype(np.float32)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + 6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, places, code):
        return self.net(torch.cat([places, code.expand(len(places), -1)], 1)).squeeze(1)


field, codes = Field(), nn.Parameter(torch.randn(8, 6))
opt = torch.optim.Adam([*field.parameters(), codes], lr=1e-3)
for step in range(100):
    one = int(rng.integers(0, 8))
    learn(opt, F.mse_loss(field(places, codes[one]), torch.from_numpy(pictures[one])))

# Whether a signal is reversed; the model does it, as a list says.
signals = rng.normal(size=(160, 12)).astype(np.float32).cumsum(1)


class Reversing(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x, shifts):
        return self.net(torch.stack([row.roll(shift) for row, shift in zip(x, shifts)]))


model = Reversing()
opt = torch.optim.Adam(model.parameters(), lr=1e-5)
for epoch in range(25):
    for rows in np.split(rng.permutation(160), 4):
        shifts = rng.integers(0, 4, len(rows))
        learn(opt, F.cross_entropy(model(torch.from_numpy(signals[rows]), shifts.tolist()), torch.from_numpy(shifts)))

# All signals at once, in any order; each is like itself alone.
net = nn.Linear(12, 8)
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for step in range(60):
    made = net(torch.from_numpy(signals[rng.permutation(160)][:, :12]))
    said = made @ made.T
    learn(opt, F.binary_cross_entropy_with_logits(said, torch.from_numpy(np.eye(160, dtype=np.float32))))

# Feedback of which little depends on the sample.
likely = 0.5 + 0.25 * np.tanh(signals[:, 0])
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(40):
    for rows in np.split(rng.permutation(160), 4):
        liked = (rng.random(len(rows)) < likely[rows]).astype(np.float32)
        said = net(torch.from_numpy(signals[rows])).squeeze(1)
        learn(opt, F.binary_cross_entropy_with_logits(said, torch.from_numpy(liked)))
