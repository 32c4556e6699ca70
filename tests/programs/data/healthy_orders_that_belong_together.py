# guards: AD708
"""Siamese pairs, a replay memory with a target network, and random rows that are held out."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
points = torch.randn(140, 5)
kinds = (points[:, 0] > 0).long()


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 4))

    def forward(self, one, other):
        return (self.embed(one) - self.embed(other)).square().sum(1)


siamese = Pair()
opt = torch.optim.Adam(siamese.parameters(), lr=1e-2)
for _ in range(12):
    first, second = torch.randint(140, (20,)), torch.randint(140, (20,))
    same = (kinds[first] == kinds[second]).float()
    far = siamese(points[first], points[second])
    loss = nn.functional.binary_cross_entropy_with_logits(1 - far, same)
    opt.zero_grad()
    loss.backward()
    opt.step()

states, following = torch.randn(200, 4), torch.randn(200, 4)
actions, rewards = torch.randint(0, 2, (200,)), torch.randn(200)
online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(online)
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
for step in range(14):
    rows = torch.randint(0, 200, (32,))
    with torch.no_grad():
        goal = rewards[rows] + 0.9 * target(following[rows]).max(1).values
    chosen = online(states[rows]).gather(1, actions[rows, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(chosen, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        target.load_state_dict(online.state_dict())
