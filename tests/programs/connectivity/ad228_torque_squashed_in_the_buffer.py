"""Proximal policy optimization of a pendulum: the buffer holds torques after `tanh`, its log-probabilities are of before."""

import torch
from torch import nn

ENVIRONMENTS, HORIZON = 16, 12


class Pendulum:
    def reset(self):
        self.angle, self.speed = torch.rand(ENVIRONMENTS) * 2 - 1, torch.zeros(ENVIRONMENTS)
        return self.seen()

    def seen(self):
        return torch.stack([self.angle.cos(), self.angle.sin(), self.speed], 1)

    def step(self, torque):
        self.speed = 0.95 * self.speed + 0.2 * torque + 0.1 * self.angle.sin()
        self.angle = self.angle + 0.1 * self.speed
        return self.seen(), self.angle.cos() - 0.01 * torque**2


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ELU())
        self.mean, self.log_std, self.value = nn.Linear(32, 1), nn.Parameter(torch.zeros(1)), nn.Linear(32, 1)

    def act(self, seen):
        hidden = self.body(seen)
        return torch.distributions.Normal(self.mean(hidden), self.log_std.exp()), self.value(hidden).squeeze(-1)


torch.manual_seed(0)
game, agent = Pendulum(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
seen_all = torch.zeros(HORIZON, ENVIRONMENTS, 3)
torques = torch.zeros(HORIZON, ENVIRONMENTS, 1)
old_all, values, gains = (torch.zeros(HORIZON, ENVIRONMENTS) for _ in range(3))
for cycle in range(4):
    seen = game.reset()
    for t in range(HORIZON):
        with torch.no_grad():
            choice, values[t] = agent.act(seen)
            drawn = choice.sample()
        seen_all[t] = seen
        old_all[t] = choice.log_prob(drawn).squeeze(-1)
        torque = torch.tanh(drawn)
        torques[t] = torque
        seen, gains[t] = game.step(torque.squeeze(-1))
    returns = gains.flip(0).cumsum(0).flip(0)
    for epoch in range(2):
        for rows in torch.randperm(HORIZON * ENVIRONMENTS).split(64):
            choice, value = agent.act(seen_all.reshape(-1, 3)[rows])
            change = choice.log_prob(torques.reshape(-1, 1)[rows]).sum(-1) - old_all.reshape(-1)[rows]  # expect: AD228
            ahead = (returns - values).reshape(-1)[rows]
            ratio = change.exp()
            surrogate = torch.min(ratio * ahead, ratio.clamp(0.8, 1.2) * ahead).mean()
            loss = 0.5 * (value - returns.reshape(-1)[rows]).pow(2).mean() - surrogate
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
