# guards: AD716 AD703
"""Actor critic in CleanRL's manner: both heads scale the frames themselves and go through one trunk."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 4), nn.Linear(64, 1)

    def get_value(self, x):
        return self.critic(self.network(x / 255.0)).squeeze(-1)

    def get_policy(self, x):
        return Categorical(logits=self.actor(self.network(x / 255.0)))


agent = Agent()
opt = torch.optim.Adam(agent.parameters(), 5e-3, eps=1e-5)
for step in range(70):
    obs = torch.randint(0, 256, (128, 16)).float()
    best = obs.view(128, 4, 4).sum(2).argmax(1)
    policy = agent.get_policy(obs)
    action = policy.sample()
    reward = (action == best).float()
    value = agent.get_value(obs)
    advantage = reward - value.detach()
    pg = -(policy.log_prob(action) * advantage).mean()
    v = 0.5 * (value - reward).pow(2).mean()
    loss = pg + 0.5 * v - 0.01 * policy.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    opt.step()
    if step % 20 == 0 or step == 69: print(step, round(reward.mean().item(), 3))
