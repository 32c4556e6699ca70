# guards: AD301
import torch
from torch import nn

torch.manual_seed(0)
policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
log_probs, returns = [], []
for _ in range(16):
    state = torch.randn(4)
    chosen = torch.distributions.Categorical(logits=policy(state))
    action = chosen.sample()
    reward = 1.0 if (action == 0) == (state[0] > 0) else -1.0
    value = critic(state)
    log_probs.append(chosen.log_prob(action))
    returns.append(reward - value.item())
    critic_loss = (value - reward).pow(2).mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
loss = -(torch.stack(log_probs) * torch.tensor(returns)).mean()
policy_optimizer.zero_grad()
loss.backward()
policy_optimizer.step()
