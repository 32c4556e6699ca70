# guards: AD631 AD632 AD609
"""Entropies that are written out: bonuses of a policy in three spellings, one that is minimised for inputs without a
label beside a policy of others, and a soft actor-critic that weighs all actions."""

import torch
from torch import nn

torch.manual_seed(0)
F = nn.functional
policy, classifier = nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
values, actor = nn.Linear(4, 3), nn.Linear(4, 3)
optimizer = torch.optim.Adam([*policy.parameters(), *classifier.parameters(), *actor.parameters()], lr=1e-3)
for step in range(24):
    state = torch.randn(64, 4)
    logs = F.log_softmax(policy(state), dim=-1)
    chances = logs.exp()
    action = torch.multinomial(chances, 1)
    gain = state[:, :3].gather(1, action).squeeze(1)
    chosen = logs.gather(1, action).squeeze(1)
    loss = -(chosen * (gain - gain.mean())).mean()
    if step % 3 == 0:
        loss = loss + 0.01 * (chances * logs).sum(1).mean()
    elif step % 3 == 1:
        entropy = -(chances * logs).sum(1)
        loss = loss - 0.01 * entropy.mean()
    else:
        loss = loss - 0.01 * torch.sum(-chances * logs, dim=1).mean()
    other = torch.randn(64, 4)
    guess = classifier(other)
    loss = loss + 0.1 * -(guess.softmax(1) * guess.log_softmax(1)).sum(1).mean()
    loss = loss + F.cross_entropy(classifier(state), state[:, :3].argmax(1))
    soft = actor(state).log_softmax(1)
    loss = loss + (soft.exp() * (0.2 * soft - values(state).detach())).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
