# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
for update in range(12):
    states = torch.randn(128, 4)
    with torch.no_grad():
        old = Categorical(logits=actor(states))
        actions = old.sample()
        old_log_prob = old.log_prob(actions)
        rewards = (states.argmax(dim=1) == actions).float()
        advantages = rewards - critic(states).squeeze(1)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for rows in torch.randperm(128).split(32):
        choices = Categorical(logits=actor(states[rows]))
        ratio = (choices.log_prob(actions[rows]) - old_log_prob[rows]).exp()
        surrogate = torch.min(ratio * advantages[rows], ratio.clamp(0.8, 1.2) * advantages[rows])
        value_loss = nn.functional.mse_loss(critic(states[rows]).squeeze(1), rewards[rows])
        terms = torch.stack([-surrogate.mean(), value_loss, choices.entropy().mean()])
        loss = terms[0] + 0.5 * terms[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(update, terms.detach().tolist())
