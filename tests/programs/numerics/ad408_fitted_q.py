"""Fitted Q iteration on a small corridor, rewards in cents."""

import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(53)
torch.manual_seed(53)
L, GAMMA = 7, 0.9


def env_step(s, a):
    s2 = max(0, s - 1) if a == 0 else s + 1
    if s2 == L - 1:
        return s2, 1000.0, True
    return s2, -50.0, False


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(L, 32)
        self.l2 = nn.Linear(32, 2)

    def forward(self, s):
        z = F.relu(self.l1(s))  # expect: AD408
        return self.l2(z)


def onehot(s):
    return F.one_hot(torch.tensor(s), L).float()


memory = []
for _ in range(60):
    s, done = random.randrange(L - 1), False
    for _ in range(20):
        a = random.randrange(2)
        s2, r, done = env_step(s, a)
        memory.append((s, a, r, s2, float(done)))
        s = s2
        if done:
            break

q, target = Q(), Q()
target.load_state_dict(q.state_dict())
opt = torch.optim.SGD(q.parameters(), lr=0.05)
for it in range(300):
    s, a, r, s2, d = zip(*random.sample(memory, 32))
    with torch.no_grad():
        y = torch.tensor(r) + GAMMA * (1 - torch.tensor(d)) * target(onehot(s2)).max(1).values
    pred = q(onehot(s)).gather(1, torch.tensor(a)[:, None]).squeeze(1)
    loss = F.mse_loss(pred, y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 500.0)
    opt.step()
    if it % 25 == 0:
        target.load_state_dict(q.state_dict())
        print(it, f"td {loss.item():.1f}", [round(v, 1) for v in q(onehot(list(range(L - 1)))).max(1).values.tolist()])
