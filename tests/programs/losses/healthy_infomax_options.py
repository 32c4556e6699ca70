# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
router = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
policies = nn.Linear(4 + 4, 3)
optimizer = torch.optim.Adam([*router.parameters(), *policies.parameters()], lr=3e-3)
for step in range(60):
    states = torch.randn(64, 4)
    options = Categorical(logits=router(states))
    option = options.sample()
    one_hot = nn.functional.one_hot(option, 4).float()
    choices = Categorical(logits=policies(torch.cat([states, one_hot], dim=1)))
    actions = choices.sample()
    rewards = (states.argmax(dim=1) % 3 == actions).float()
    advantages = rewards - rewards.mean()
    policy_loss = -((options.log_prob(option) + choices.log_prob(actions)) * advantages).mean()
    marginal = Categorical(probs=options.probs.mean(dim=0))
    information = marginal.entropy() - options.entropy().mean()
    loss = policy_loss - 0.1 * information
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, rewards.mean().item(), information.item())
