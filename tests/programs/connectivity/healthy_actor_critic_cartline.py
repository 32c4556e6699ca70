# guards: AD216 AD632
"""One-step actor-critic on a tiny line world: advantages are detached in the policy loss."""
import torch
from torch import nn, optim
from torch.distributions import Categorical

N = 7


class LineWorld:
    def reset(self):
        self.pos = N // 2
        self.t = 0
        return self.obs()

    def obs(self):
        o = torch.zeros(N)
        o[self.pos] = 1.0
        return o

    def step(self, a):
        self.pos = max(0, min(N - 1, self.pos + (1 if a == 1 else -1)))
        self.t += 1
        done = self.pos == N - 1 or self.t >= 12
        return self.obs(), float(self.pos == N - 1) - 0.05, done


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(N, 24)
        self.actor = nn.Linear(24, 2)
        self.critic = nn.Linear(24, 1)

    def forward(self, o):
        h = torch.tanh(self.body(o))
        return self.actor(h), self.critic(h).squeeze(-1)


torch.manual_seed(0)
env, model = LineWorld(), AC()
optimizer = optim.Adam(model.parameters(), lr=2e-2)
for episode in range(30):
    obs, done = env.reset(), False
    logps, values, rewards, entropies = [], [], [], []
    while not done:
        logits, value = model(obs)
        dist = Categorical(logits=logits)
        action = dist.sample()
        obs, r, done = env.step(action.item())
        logps.append(dist.log_prob(action))
        values.append(value)
        rewards.append(r)
        entropies.append(dist.entropy())
    R, returns = 0.0, []
    for r in reversed(rewards):
        R = r + 0.95 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    values = torch.stack(values)
    advantages = (returns - values).detach()
    policy_loss = -(torch.stack(logps) * advantages).sum()
    value_loss = (returns - values).pow(2).sum()
    loss = policy_loss + 0.5 * value_loss - 0.01 * torch.stack(entropies).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 10 == 9:
        print(f"ep {episode + 1} return {sum(rewards):.2f} len {len(rewards)}")
