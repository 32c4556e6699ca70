# guards: AD630
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
values = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
value_optimizer = torch.optim.Adam(values.parameters(), lr=2e-3)
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
for step in range(60):
    transitions = []
    states = torch.randn(48, 4)
    choices = Categorical(logits=policy(states))
    actions = choices.sample()
    for row, (state, action) in enumerate(zip(states, actions.tolist())):
        terminated, truncated = float(state[0] > 1.2), float(row % 12 == 11)
        transitions.append((float(state[action]), terminated, truncated, (0.9 * state + 0.1).tolist()))
    rewards, terminated, truncated, following = (torch.tensor(each) for each in zip(*transitions))
    with torch.no_grad():
        target = rewards + 0.95 * values(following).squeeze(1) * torch.logical_not(terminated.bool())
    advantage = target - values(states).squeeze(1)
    value_loss = advantage.square().mean()
    weight = advantage.detach() / (advantage.detach().std() + 1e-6)
    policy_loss = torch.neg((choices.log_prob(actions) * weight).mean() + 0.01 * choices.entropy().mean())
    value_optimizer.zero_grad()
    value_loss.backward()
    value_optimizer.step()
    policy_optimizer.zero_grad()
    policy_loss.backward()
    policy_optimizer.step()
