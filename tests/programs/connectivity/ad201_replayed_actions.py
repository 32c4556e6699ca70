"""Deep Q-learning whose loss slipped into the `no_grad` block of its target; acting without a graph is right."""
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class QNetwork(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.hidden = nn.Linear(observations, 32)
        self.out = nn.Linear(32, actions)

    def forward(self, state):
        return self.out(F.relu(self.hidden(state)))


online, target = QNetwork(4, 2), QNetwork(4, 2)
target.load_state_dict(online.state_dict())
optimizer = torch.optim.RMSprop(online.parameters())
memory = deque(maxlen=1000)


def learn():
    state, action, reward, following = map(torch.stack, zip(*random.sample(memory, 16)))
    value = online(state).gather(1, action)
    with torch.no_grad():  # expect: AD201
        best = target(following).max(1)[0]
        loss = F.smooth_l1_loss(value, (reward.squeeze(1) + 0.99 * best).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


state = torch.randn(4)
for _ in range(100):
    with torch.no_grad():
        action = online(state.unsqueeze(0)).max(1)[1].view(1)
    following = torch.randn(4)
    memory.append((state, action, torch.randn(1), following))
    state = following
    if len(memory) >= 16:
        learn()
