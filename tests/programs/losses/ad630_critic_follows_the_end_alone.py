import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
torch.manual_seed(0)
obs = torch.as_tensor(rng.normal(size=(192, 3)), dtype=torch.float32)
nxt = torch.as_tensor(rng.normal(size=(192, 3)), dtype=torch.float32)
act = torch.as_tensor(rng.normal(size=(192, 1)), dtype=torch.float32)
rew = torch.as_tensor(rng.normal(size=(192, 1)), dtype=torch.float32)
end = torch.as_tensor(rng.random(size=(192, 1)) < 0.15)
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
opt2 = torch.optim.Adam(actor.parameters(), lr=1e-3)
for epoch in range(2):
    for o, n, a, r, e in DataLoader(TensorDataset(obs, nxt, act, rew, end), batch_size=32, shuffle=True):
        with torch.no_grad():
            after = critic(torch.cat([n, actor(n)], 1))
            after = torch.where(e, after, torch.zeros_like(after))
            y = r + 0.9 * after  # expect: AD630
        loss = ((critic(torch.cat([o, a], 1)) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        la = -critic(torch.cat([o, actor(o)], 1)).mean()
        opt2.zero_grad()
        la.backward()
        opt2.step()
