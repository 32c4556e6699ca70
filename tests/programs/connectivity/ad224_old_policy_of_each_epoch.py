"""PPO with shuffled minibatches, whose old log-probabilities are those of the newest forward, detached."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.mean = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
        self.log_std = nn.Parameter(torch.zeros(1, 2))

    def act(self, x, action=None):
        mean = self.mean(x)
        choices = Normal(mean, self.log_std.expand_as(mean).exp())
        if action is None:
            action = choices.sample()
        return action, choices.log_prob(action).sum(1), choices.entropy().sum(1), self.critic(x).squeeze(1)


torch.manual_seed(1)
np.random.seed(1)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
rows = np.arange(96)
for update in range(6):
    obs = torch.randn(96, 3)
    with torch.no_grad():
        actions, _, _, values = agent.act(obs)
    returns = -(actions - obs[:, :2]).abs().sum(1)
    advantages = returns - values
    for epoch in range(3):
        np.random.shuffle(rows)
        for start in range(0, 96, 32):
            batch = rows[start : start + 32]
            _, log_probs, entropy, new_values = agent.act(obs[batch], actions[batch])
            old_log_probs = log_probs.detach()
            ratio = torch.exp(log_probs - old_log_probs)  # expect: AD224
            gained = advantages[batch]
            gained = (gained - gained.mean()) / (gained.std() + 1e-8)
            policy_loss = torch.max(-gained * ratio, -gained * torch.clamp(ratio, 0.8, 1.2)).mean()
            value_loss = 0.5 * (new_values - returns[batch]).square().mean()
            loss = policy_loss - 0.01 * entropy.mean() + 0.5 * value_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
