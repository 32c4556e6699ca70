# guards: AD210
# hinted: AD210
"""A controller with dropout that was cloned from a demonstrator is tuned by its own trials, with dropout off for good."""

import torch
from torch import nn


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 2))

    def forward(self, state):
        return torch.distributions.Categorical(logits=self.body(state))


def trial(controller, pushes=10, carts=24):
    state, seen = torch.randn(carts, 3), []
    with torch.no_grad():
        for _ in range(pushes):
            choice = controller(state)
            push = choice.sample()
            moved = state + 0.2 * torch.stack([state[:, 1], push * 2.0 - 1, torch.zeros(carts)], 1)
            seen.append((state, push, choice.log_prob(push), -moved[:, 0].abs()))
            state = moved
    return [torch.cat(column) for column in zip(*seen, strict=True)]


torch.manual_seed(6)
controller = Controller()
controller.eval()
optimizer = torch.optim.Adam(controller.parameters(), lr=3e-3)
for round_ in range(8):
    states, pushes, before, rewards = trial(controller)
    worth = (rewards - rewards.mean()) / rewards.std()
    for rows in torch.randperm(len(states)).split(80):
        ratio = (controller(states[rows]).log_prob(pushes[rows]) - before[rows]).exp()
        loss = -torch.minimum(ratio * worth[rows], ratio.clamp(0.8, 1.2) * worth[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(round_, rewards.mean().item())
