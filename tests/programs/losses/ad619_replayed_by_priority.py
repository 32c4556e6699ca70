"""Deep Q-learning with importance weights of a replay that prefers what was mispredicted."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
online = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
memory = {
    "s": rng.normal(size=(300, 3)).astype(np.float32),
    "a": rng.integers(0, 2, 300),
    "s2": rng.normal(size=(300, 3)).astype(np.float32),
}
memory["r"] = (memory["s"][:, 0] * (2 * memory["a"] - 1)).astype(np.float32)
priority = np.ones(300)


def sample(size, beta):
    odds = priority / priority.sum()
    rows = rng.choice(300, size, p=odds)
    weights = (300 * odds[rows]) ** -beta
    return rows, torch.as_tensor(weights / weights.max(), dtype=torch.float32)


for update in range(40):
    rows, weights = sample(32, beta=0.5)
    s, s2, r = (torch.from_numpy(memory[name][rows]) for name in ("s", "s2", "r"))
    a = torch.from_numpy(memory["a"][rows])
    with torch.no_grad():
        goal = r + 0.5 * target(s2).amax(1)
    value = online(s).gather(1, a[:, None])[:, 0]
    loss = weights * F.smooth_l1_loss(value, goal)  # <- AD619
    optimizer.zero_grad()
    loss.mean().backward()
    optimizer.step()
    priority[rows] = (value.detach() - goal).abs().numpy() + 0.1
    if update % 10 == 9:
        target.load_state_dict(online.state_dict())
        print(update + 1, loss.mean().item())
