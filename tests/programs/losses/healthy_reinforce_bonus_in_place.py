# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
baseline = 0.0
for step in range(60):
    states = torch.randn(64, 4)
    choices = Categorical(logits=policy(states))
    actions = choices.sample()
    rewards = (states.argmax(dim=1) == actions).float()
    loss = (choices.log_prob(actions) * (rewards - baseline)).mean().neg_()
    penalty = choices.entropy().mean().neg_()
    loss += 0.01 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * rewards.mean().item()
