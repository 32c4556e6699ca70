# guards: AD310 AD224 AD121
"""Two Q-functions on one encoder, with a target that shares the encoder and follows in its heads alone; a shallow copy
of the model carries another temperature; weights decay by their own share."""

import copy

import torch
from torch import nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head, self.temperature = encoder, nn.Linear(32, 3), 1.0

    def forward(self, x):
        return self.head(self.encoder(x)) / self.temperature


encoder = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
online, target = Policy(encoder), Policy(encoder)
target.head.load_state_dict(online.head.state_dict())
greedy = copy.copy(online)
greedy.temperature = 0.05
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
for step in range(30):
    state, following = torch.randn(64, 6), torch.randn(64, 6)
    with torch.no_grad():
        action = torch.distributions.Categorical(logits=greedy(state)).sample()
        goal = state[:, 0] * (action == 1) + 0.9 * target(following).amax(1)
    loss = nn.functional.smooth_l1_loss(online(state).gather(1, action[:, None]).squeeze(1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), online.parameters()):
            slow.lerp_(fast, 0.05)
        for weight in online.head.parameters():
            weight.add_(weight, alpha=-1e-4)
