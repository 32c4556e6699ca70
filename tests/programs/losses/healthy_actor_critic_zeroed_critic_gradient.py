# guards: AD632 AD631
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3)
for step in range(60):
    states = torch.randn(64, 4)
    choices = Categorical(logits=actor(states))
    actions = choices.sample()
    returns = states.gather(1, actions[:, None]).squeeze(1) + 0.1 * torch.randn(64)
    advantage = returns - critic(states).squeeze(1)
    actor_loss = -(choices.log_prob(actions) * advantage).mean() - 0.01 * choices.entropy().mean()
    critic_loss = advantage.pow(2).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward(retain_graph=True, inputs=list(actor.parameters()))
    actor_optimizer.step()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
