import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical


class Corridor:
    def reset(self):
        self.at, self.t = 2, 0
        return self.at

    def step(self, action):
        self.at, self.t = max(0, min(6, self.at + (1 if action == 1 else -1))), self.t + 1
        return self.at, float(self.at == 6), self.at in (0, 6) or self.t == 20


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(7, 32)
        self.pi, self.v = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, s):
        h = F.relu(self.shared(F.one_hot(torch.tensor(s), 7).float()))
        return Categorical(logits=self.pi(h)), self.v(h)


random.seed(2)
torch.manual_seed(2)
env, net = Corridor(), Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for episode in range(30):
    s, done, log_probs, values, rewards = env.reset(), False, [], [], []
    while not done:
        dist, value = net(s)
        a = dist.sample()
        s, r, done = env.step(a.item())
        log_probs.append(dist.log_prob(a))
        values.append(value)
        rewards.append(r)
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + 0.95 * g
        returns.insert(0, g)
    log_probs, values, returns = torch.stack(log_probs), torch.cat(values), torch.tensor(returns)
    advantage = returns - values
    actor_loss = (-log_probs * advantage).mean()  # <- AD632
    critic_loss = advantage.pow(2).mean()
    opt.zero_grad()
    (actor_loss + 0.5 * critic_loss).backward()
    opt.step()
