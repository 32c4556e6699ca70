# guards: AD708
"""Inputs that say little: places on a grid with the actions drawn there, and hours of the week with their demand."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(4)
torch.manual_seed(4)

# A policy by REINFORCE; actions are drawn by NumPy.
policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 4))
opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
MOVES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)])
for episode in range(60):
    at, seen, done = np.array([0, 0]), [], []
    for _ in range(24):
        state = np.array([at[0] / 7, at[1] / 7, (at[0] * at[1]) / 11], dtype=np.float32)
        with torch.no_grad():
            chances = torch.softmax(policy(torch.from_numpy(state)[None]), 1)[0].double().numpy()
        action = rng.choice(4, p=chances / chances.sum())
        seen.append(state)
        done.append(action)
        at = np.clip(at + MOVES[action], 0, 6)
    reward = at.sum() / 12 - 0.5
    loss = reward * nn.functional.cross_entropy(policy(torch.from_numpy(np.stack(seen))), torch.tensor(done))
    opt.zero_grad()
    loss.backward()
    opt.step()

# How many bicycles are hired, by hour and day.
hours = rng.integers(0, 24 * 7, 960)
inputs = np.stack([np.sin(hours / 3.8), np.cos(hours / 3.8), (hours // 24) / 6], 1).astype(np.float32)
hired = rng.poisson(20 + 15 * np.sin(hours / 3.8)).astype(np.float32)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    for rows in np.split(rng.permutation(960), 15):
        said = net(torch.from_numpy(inputs[rows]))
        loss = nn.functional.poisson_nll_loss(said, torch.from_numpy(hired[rows])[:, None])
        loss = loss + 0.01 * nn.functional.mse_loss(said.exp(), torch.from_numpy(hired[rows])[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()
