# guards: AD224
"""The arms of a bandit are drawn with NumPy, and the log-probabilities picked by its arrays; contexts stay the same."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(1)
contexts = torch.randn(40, 5)
best = contexts[:, :3].argmax(1).numpy()
policy = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
numbers = np.arange(40)
for update in range(40):
    scores = policy(contexts).log_softmax(1)
    chances = scores.detach().exp().double().numpy()
    drawn = (chances.cumsum(1) < rng.random((40, 1))).sum(1).clip(0, 2)
    gains = torch.from_numpy((drawn == best).astype(np.float32) - 0.4)
    now = scores[numbers, drawn]
    ratio = torch.exp(now - now.detach())
    loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
