# guards: AD631 AD632 AD630
import copy

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
q1, q2 = (nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3)) for _ in range(2))
t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
log_alpha = torch.zeros(1, requires_grad=True)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=1e-3)
alpha_opt = torch.optim.Adam([log_alpha], lr=1e-3)
states = torch.randn(1000, 4)
actions = torch.randint(0, 3, (1000, 1))
rewards = states.gather(1, actions)
following = 0.8 * states + 0.4 * torch.randn(1000, 4)
masks = (torch.rand(1000, 1) > 0.1).float()
for step in range(60):
    rows = torch.randint(0, 1000, (64,))
    s, a, r, s2, mask = states[rows], actions[rows], rewards[rows], following[rows], masks[rows]
    with torch.no_grad():
        ahead = Categorical(logits=actor(s2))
        soft = torch.min(t1(s2), t2(s2)) - log_alpha.exp() * ahead.logits
        target = r + 0.95 * mask * (ahead.probs * soft).sum(1, keepdim=True)
    q_loss = nn.functional.mse_loss(q1(s).gather(1, a), target) + nn.functional.mse_loss(q2(s).gather(1, a), target)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    policy = Categorical(logits=actor(s))
    with torch.no_grad():
        best = torch.min(q1(s), q2(s))
    actor_loss = (-(policy.probs * best).sum(1) - log_alpha.exp().detach() * policy.entropy()).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    alpha_loss = (log_alpha.exp() * (policy.entropy().detach() - 0.6)).mean()
    alpha_opt.zero_grad()
    alpha_loss.backward()
    alpha_opt.step()
    with torch.no_grad():
        for live, slow in ((q1, t1), (q2, t2)):
            for p, q in zip(live.parameters(), slow.parameters()):
                q.lerp_(p, 0.01)
