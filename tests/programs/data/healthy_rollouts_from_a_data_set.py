# guards: AD712
"""Carts are kept in a data set: reading one lets the policy push it once, and hands out what came of that."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Carts(Dataset):
    def __init__(self, policy, count=24):
        self.policy = policy
        self.where = [torch.randn(2) for _ in range(count)]

    def __len__(self):
        return len(self.where)

    def __getitem__(self, cart):
        before = self.where[cart]
        with torch.no_grad():
            push = torch.bernoulli(torch.sigmoid(self.policy(before)))
        position, speed = before
        speed = 0.9 * speed + 0.2 * (2 * push[0] - 1)
        after = torch.stack([position + 0.3 * speed, speed])
        if after[0].abs() > 3:
            after = torch.randn(2)
        self.where[cart] = after
        return before, push, -after[0].abs()


policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
carts = DataLoader(Carts(policy), batch_size=6)
for _ in range(5):
    for state, push, reward in carts:
        surprise = reward - reward.mean()
        chance = -nn.functional.binary_cross_entropy_with_logits(policy(state), push, reduction="none")
        optimizer.zero_grad()
        (-(surprise.unsqueeze(1) * chance).mean()).backward()
        optimizer.step()
