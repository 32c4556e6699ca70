"""Many copies of a cart on a rail: those that left it begin anew in the middle, at rest."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
adam = torch.optim.Adam(policy.parameters(), lr=1e-2)
cart = torch.cat([torch.randn(32, 2), torch.ones(32, 1)], 1)
for update in range(40):
    scores = policy(cart.clone())
    pushed = torch.distributions.Categorical(logits=scores.detach()).sample()
    cart[:, 1] += 0.2 * (2 * pushed - 1)
    cart[:, 0] += 0.1 * cart[:, 1]
    reward = -cart[:, 0].abs()
    left = cart[:, 0].abs() > 1.0
    cart[left][:, :2] = 0.0  # expect: AD514
    chance = torch.log_softmax(scores, 1).gather(1, pushed[:, None]).squeeze(1)
    loss = -(chance * (reward - reward.mean())).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
    cart.clamp_(-5, 5)
