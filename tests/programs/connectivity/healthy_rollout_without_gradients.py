# guards: AD201
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)

@torch.no_grad()
def act(state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    choice = torch.distributions.Categorical(logits=policy(state))
    action = choice.sample()
    return action, choice.log_prob(action)

for _ in range(8):
    state = torch.randn(64, 4)
    action, before = act(state)
    advantage = state[:, 0] * (2 * action - 1).float()
    ratio = (torch.distributions.Categorical(logits=policy(state)).log_prob(action) - before).exp()
    loss = -(ratio * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
