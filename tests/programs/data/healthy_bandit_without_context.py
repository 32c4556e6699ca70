# guards: AD704
"""A bandit whose observation says nothing: the policy has one row to look at, and learns all the same."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(5)
torch.manual_seed(5)
pays = np.array([0.1, 0.8, 0.3])


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 16), nn.Tanh())
        self.policy, self.value = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, seen):
        hidden = self.body(seen)
        return self.policy(hidden), self.value(hidden).squeeze(1)


agent = ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=5e-3)
for _ in range(40):
    seen = torch.from_numpy(np.ones((32, 2), dtype=np.float32))
    logits, value = agent(seen)
    chosen = torch.distributions.Categorical(logits=logits)
    arms = chosen.sample()
    paid = torch.from_numpy((rng.random(32) < pays[arms.numpy()]).astype(np.float32))
    advantage = (paid - value).detach()
    loss = -(chosen.log_prob(arms) * advantage).mean() + 0.5 * nn.functional.mse_loss(value, paid)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
