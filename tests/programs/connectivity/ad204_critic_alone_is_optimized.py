"""PPO on a toy control problem: the actor and the critic are two networks, and Adam got only one of them."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(7)


def mlp(outputs):
    return nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, outputs))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = mlp(1)
        self.critic = mlp(1)
        self.log_std = nn.Parameter(torch.zeros(1), requires_grad=False)

    def act(self, states):
        return Normal(self.actor(states), self.log_std.exp())


agent = Agent()
optimizer = torch.optim.Adam(agent.critic.parameters(), lr=3e-4)  # expect: AD204
for update in range(8):
    states = torch.randn(128, 3)
    with torch.no_grad():
        policy = agent.act(states)
        actions = policy.sample()
        old = policy.log_prob(actions).sum(1)
        returns = -(actions.squeeze(1) - states.sum(1)).square() + 0.1 * torch.randn(128)
        advantages = returns - agent.critic(states).squeeze(1)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for rows in torch.randperm(128).split(32):
        policy = agent.act(states[rows])
        ratio = (policy.log_prob(actions[rows]).sum(1) - old[rows]).exp()
        gain = torch.min(ratio * advantages[rows], ratio.clamp(0.8, 1.2) * advantages[rows]).mean()
        value_loss = (agent.critic(states[rows]).squeeze(1) - returns[rows]).square().mean()
        loss = -gain + 0.5 * value_loss - 0.001 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
    print(update, returns.mean().item())
