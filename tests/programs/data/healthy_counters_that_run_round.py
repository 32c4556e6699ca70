# guards: AD724
"""Odometry from wheel encoders: learn the planar motion of a skid-steer robot from tick differences.

The micro-controller reports free-running signed 16-bit counters. Differences are taken in int16, as the
firmware manual says, so that an overrun between two readings drops out by itself.
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
rng = np.random.default_rng(5)

TICKS_PER_METRE, DT, BASE = 20_000.0, 0.05, 0.42


def drive(seconds):
    """Simulated log: counters (int16, free running) and ground-truth motion per interval from motion capture."""
    n = int(seconds / DT)
    t = np.arange(n) * DT
    phase = rng.uniform(0, 6.28, 4)
    left = 1.4 + 0.8 * np.sin(0.31 * t + phase[0]) + 0.3 * np.sin(1.7 * t + phase[1])
    right = 1.4 + 0.8 * np.sin(0.27 * t + phase[2]) + 0.3 * np.sin(1.3 * t + phase[3])
    travelled = np.stack([left, right], 1) * DT
    ticks = np.cumsum(np.round(travelled * TICKS_PER_METRE), 0).astype(np.int64)
    counter = ticks.astype(np.int16)
    slip = 1 - 0.12 * np.tanh(2 * np.abs(left - right))
    forward = 0.5 * (left + right) * DT * slip
    turn = (right - left) / BASE * DT * slip
    pose = np.stack([forward, turn], 1) + rng.normal(0, 2e-4, (n, 2))
    return torch.from_numpy(counter), torch.from_numpy(pose.astype(np.float32))


def windows(counter, motion, k=4):
    delta = counter[1:] - counter[:-1]
    speed = delta.float() / (TICKS_PER_METRE * DT)  # metres per second
    x = speed.unfold(0, k, 1).flatten(1)
    return x, motion[k:]


logs = [windows(*drive(120)) for _ in range(4)]
train_x, train_y = (torch.cat(parts) for parts in zip(*logs[:3]))
test_x, test_y = logs[3]
mean, std = train_x.mean(0), train_x.std(0)
y_mean, y_std = train_y.mean(0), train_y.std(0)
loader = DataLoader(TensorDataset((train_x - mean) / std, (train_y - y_mean) / y_std), batch_size=128, shuffle=True)

net = nn.Sequential(nn.Linear(8, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 2))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(6):
    net.train()
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        predicted = net((test_x - mean) / std) * y_std + y_mean
        rmse = (predicted - test_y).square().mean(0).sqrt()
    print(f"epoch {epoch}: forward {1000 * rmse[0]:.2f} mm, turn {1000 * rmse[1]:.2f} mrad per interval")
