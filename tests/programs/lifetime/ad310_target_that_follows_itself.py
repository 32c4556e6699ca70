"""Values of states on a ring are learned with a target network, which is loaded from itself."""

import copy

import torch
from torch import nn
from torch.nn import functional

STATES = 8


class Learner:
    def __init__(self):
        self.online = nn.Sequential(nn.Linear(STATES, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=5e-3)

    def update(self, states, actions, rewards, successors):
        with torch.no_grad():
            wanted = rewards + 0.9 * self.target(successors).max(1).values
        values = self.online(states).gather(1, actions).squeeze(1)
        loss = functional.smooth_l1_loss(values, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def sync(self):
        self.target.load_state_dict(self.target.state_dict())  # expect: AD310


torch.manual_seed(0)
learner = Learner()
for step in range(28):
    at = torch.randint(STATES, (64,))
    actions = torch.randint(2, (64, 1))
    next_to = (at + 2 * actions.squeeze(1) - 1) % STATES
    rewards = (next_to == 0).float()
    ring = functional.one_hot(torch.stack([at, next_to]), STATES).float()
    learner.update(ring[0], actions, rewards, ring[1])
    if step % 4 == 3:
        learner.sync()
