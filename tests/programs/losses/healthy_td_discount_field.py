# guards: AD630
import numpy as np
import torch
from torch import nn

np.random.seed(0)
torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
n, gamma, size = 3, 0.97, 800
states = np.random.randn(size, 4).astype(np.float32)
rewards = (states[:, 0] + 0.1 * np.random.randn(size)).astype(np.float32)
dones = np.random.rand(size) < 0.1


def sample(count):
    rows = np.random.randint(0, size - n, count)
    total, discount = np.zeros(count, np.float32), np.ones(count, np.float32)
    for k in range(n):
        total += discount * rewards[rows + k]
        discount *= gamma * (1.0 - dones[rows + k])
    return {"state": states[rows], "reward": total, "next": states[rows + n], "discount": discount, "done": dones[rows]}


for step in range(60):
    batch = {key: torch.from_numpy(each) for key, each in sample(64).items()}
    with torch.no_grad():
        after = critic(batch["next"]).squeeze(1)
        target = batch["reward"] + batch["discount"] * after
    loss = nn.functional.mse_loss(critic(batch["state"]).squeeze(1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
