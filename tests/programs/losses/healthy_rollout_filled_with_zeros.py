# guards: AD630
"""Advantage actor-critic on whole rollouts."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.RMSprop([*actor.parameters(), *critic.parameters()], lr=1e-3)


class Drift:
    """Drifts about until it is too far out."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.reset()

    def reset(self):
        self.at = self.random.standard_normal(4).astype(np.float32)
        return self.at

    def step(self, action):
        self.at = (0.9 * self.at + 0.3 * self.random.standard_normal(4) + (action - 0.5)).astype(np.float32)
        distance = float(np.linalg.norm(self.at))
        return self.at, -distance, distance > 2.2


world = Drift()


def rollout(steps):
    state, found = world.reset(), []
    for _ in range(steps):
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=actor(torch.from_numpy(state))).sample().item()
        after, reward, over = world.step(action)
        found.append((state, action, reward, after, over))
        state = world.reset() if over else after
    states, actions, rewards, following, ends = zip(*found)
    return (
        torch.from_numpy(np.stack(states)),
        torch.tensor(actions),
        torch.tensor(rewards),
        torch.from_numpy(np.stack(following)),
        torch.tensor(ends),
    )


for update in range(6):
    s, a, r, s2, end = rollout(32)
    with torch.no_grad():
        later = critic(s2).squeeze(1).masked_fill(end, 0.0)
        goal = r + 0.97 * later
    value = critic(s).squeeze(1)
    advantage = (goal - value).detach()
    chosen = torch.distributions.Categorical(logits=actor(s)).log_prob(a)
    loss = -(advantage * chosen).mean() + (goal - value).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
