# guards: AD301
"""A bandit that collects the log-probabilities of an episode for the backward that comes."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, arms=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, arms))

    def forward(self, context):
        return Categorical(logits=self.net(context))


def pull(arm, context, truth):
    return float(truth[arm] @ context > 0.5)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
truth = torch.randn(5, 4)
for episode in range(30):
    log_probs, rewards = [], []
    for _ in range(12):
        context = torch.randn(4)
        dist = policy(context)
        arm = dist.sample()
        log_probs.append(dist.log_prob(arm))
        rewards.append(pull(arm, context, truth))
    reward = torch.tensor(rewards)
    loss = -(torch.stack(log_probs) * (reward - reward.mean())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 10 == 0:
        print(episode, sum(rewards))
