"""An actor chooses between two actions, whose numbers are zeros and ones as well; the ends of episodes are put down and
forgotten."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
state = torch.randn(8, 4)
for update in range(8):
    rollout = []
    for _ in range(6):
        with torch.no_grad():
            action = Categorical(logits=actor(state)).sample()
        following = 0.8 * state + 0.6 * torch.randn(8, 4)
        fell = following.norm(dim=1) > 2.6
        rollout.append((state, action, (action == (state[:, 0] > 0)).float(), following, fell.float()))
        state = torch.where(fell[:, None], torch.randn(8, 4), following)
    states, actions, rewards, next_states, ends = map(torch.cat, zip(*rollout))
    with torch.no_grad():
        returns = rewards + 0.95 * critic(next_states).squeeze(1)  # expect: AD630
    values = critic(states).squeeze(1)
    chosen = Categorical(logits=actor(states)).log_prob(actions)
    loss = nn.functional.mse_loss(values, returns) - (chosen * (returns - values).detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
