"""Actor-critic which keeps the log probabilities from acting."""

from collections import namedtuple

import torch
from torch import nn
from torch.distributions import Categorical

Moment = namedtuple("Moment", "obs logp reward")


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    @torch.no_grad()  # expect: AD201
    def act(self, obs):
        dist = Categorical(logits=self.actor(obs))
        action = dist.sample()
        return action, dist.log_prob(action)


def collect(agent, steps):
    obs, path = torch.zeros(3), []
    for _ in range(steps):
        action, logp = agent.act(obs)
        reward = float(action.item() == int(obs[0] > 0))
        path.append(Moment(obs, logp, reward))
        obs = torch.randn(3)
    return path


def update(agent, opt, path):
    returns, g = [], 0.0
    for m in reversed(path):
        g = m.reward + 0.9 * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    values = agent.critic(torch.stack([m.obs for m in path])).squeeze(1)
    advantage = returns - values.detach()
    actor_loss = -(torch.stack([m.logp for m in path]) * advantage).mean()
    critic_loss = nn.functional.mse_loss(values, returns)
    opt.zero_grad()
    (actor_loss + 0.5 * critic_loss).backward()
    opt.step()


torch.manual_seed(0)
agent = Agent()
opt = torch.optim.Adam(agent.parameters(), lr=1e-2)
for episode in range(6):
    path = collect(agent, 10)
    update(agent, opt, path)
    print(episode, sum(m.reward for m in path))
