"""One-step actor-critic on single transitions, as they come."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 32)
        self.policy = nn.Linear(32, 2)
        self.value = nn.Linear(32, 1)

    def forward(self, state):
        hidden = torch.tanh(self.body(state))
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


torch.manual_seed(3)
model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
state, gamma = torch.randn(3), 0.95
for step in range(40):
    choice, value = model(state)
    action = choice.sample()
    following = 0.9 * state + 0.3 * torch.randn(3) + 0.1 * (action.item() - 0.5)
    reward = -following.square().sum().item()
    _, value_after = model(following)
    goal = reward + gamma * value_after  # expect: AD618
    advantage = goal - value
    actor_loss = -choice.log_prob(action) * advantage.detach()
    critic_loss = F.mse_loss(value, goal)
    optimizer.zero_grad()
    (actor_loss + 0.5 * critic_loss).backward()
    optimizer.step()
    state = following
    if step % 10 == 0:
        print(step, round(critic_loss.item(), 4))
