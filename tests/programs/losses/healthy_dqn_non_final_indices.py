# guards: AD630
import random

import numpy as np
import torch
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.value, self.advantage = nn.Linear(32, 1), nn.Linear(32, 3)

    def forward(self, x):
        hidden = self.body(x)
        advantage = self.advantage(hidden)
        return self.value(hidden) + advantage - advantage.mean(dim=1, keepdim=True)


online, frozen = Dueling(), Dueling()
frozen.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
size = 1000
store = {
    "state": np.random.randn(size, 4).astype(np.float32),
    "action": np.random.randint(0, 3, size),
    "next": np.random.randn(size, 4).astype(np.float32),
    "done": np.random.rand(size) < 0.15,
}
store["reward"] = store["state"][np.arange(size), store["action"]] + 0.1 * np.random.randn(size).astype(np.float32)
for step in range(60):
    rows = np.random.choice(size, 64, replace=False)
    batch = {key: torch.as_tensor(value[rows]) for key, value in store.items()}
    going_on = np.flatnonzero(~store["done"][rows])
    with torch.no_grad():
        following = batch["next"][going_on]
        best = online(following).argmax(dim=1, keepdim=True)
        after = torch.zeros(64)
        after[going_on] = frozen(following).gather(1, best).squeeze(1)
        target = batch["reward"] + 0.99**3 * after
    chosen = online(batch["state"]).gather(1, batch["action"][:, None]).squeeze(1)
    loss = nn.functional.huber_loss(chosen, target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(online.parameters(), 10.0)
    optimizer.step()
    if step % 20 == 19:
        frozen.load_state_dict(online.state_dict())
