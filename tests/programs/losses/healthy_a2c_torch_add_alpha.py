# guards: AD631 AD632 AD630
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
actor, critic = nn.Linear(32, 3), nn.Linear(32, 1)
parameters = [*body.parameters(), *actor.parameters(), *critic.parameters()]
optimizer = torch.optim.RMSprop(parameters, lr=1e-3)
state = torch.randn(16, 4)
for update in range(40):
    log_probs, values, rewards, dones, entropies = [], [], [], [], []
    for _ in range(5):
        hidden = body(state)
        choice = Categorical(logits=actor(hidden))
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        entropies.append(choice.entropy())
        values.append(critic(hidden).squeeze(1))
        rewards.append((action == state[:, :3].argmax(dim=1)).float())
        done = torch.rand(16) < 0.1
        dones.append(done.float())
        state = torch.where(done[:, None], torch.randn(16, 4), 0.9 * state + 0.4 * torch.randn(16, 4))
    with torch.no_grad():
        following = critic(body(state)).squeeze(1)
    advantage, returns = torch.zeros(16), []
    for t in reversed(range(5)):
        delta = rewards[t] + 0.99 * following * (1 - dones[t]) - values[t].detach()
        advantage = delta + 0.99 * 0.95 * (1 - dones[t]) * advantage
        returns.insert(0, advantage)
        following = values[t].detach()
    gae = torch.stack(returns)
    value = torch.stack(values)
    policy_loss = -(torch.stack(log_probs) * gae).mean()
    value_loss = nn.functional.mse_loss(value, gae + value.detach())
    loss = torch.add(policy_loss, torch.stack(entropies).mean(), alpha=-0.01)
    loss = torch.add(loss, value_loss, alpha=0.5)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 0.5)
    optimizer.step()
