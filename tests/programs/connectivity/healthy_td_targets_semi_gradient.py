# guards: AD216 AD618 AD630
"""Semi-gradient Q-learning without a target network: the bootstrapped target is taken from the same net and detached."""
import random

import torch
from torch import nn


class QNet(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.value = nn.Sequential(nn.Linear(n_obs, 32), nn.ReLU(), nn.Linear(32, 1))
        self.adv = nn.Sequential(nn.Linear(n_obs, 32), nn.ReLU(), nn.Linear(32, n_act))

    def forward(self, s):
        a = self.adv(s)
        return self.value(s) + a - a.mean(-1, keepdim=True)


def transition(s):
    a = random.randrange(3)
    r = float(s[a] > 0)
    s2 = 0.5 * s + 0.5 * torch.randn_like(s)
    return s, a, r, s2, random.random() < 0.2


def main():
    random.seed(0)
    torch.manual_seed(0)
    q = QNet(4, 3)
    optim = torch.optim.Adam(q.parameters(), lr=5e-3)
    memory = [transition(torch.randn(4)) for _ in range(400)]
    for step in range(40):
        s, a, r, s2, done = zip(*random.sample(memory, 64))
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r = torch.tensor(a), torch.tensor(r)
        not_done = 1 - torch.tensor(done, dtype=torch.float)
        q_sa = q(s).gather(1, a[:, None]).squeeze(1)
        target = r + 0.8 * not_done * q(s2).max(1).values.detach()
        td_error = target - q_sa
        loss = td_error.pow(2).mean() + 1e-4 * sum((p ** 2).sum() for p in q.parameters())
        optim.zero_grad()
        loss.backward()
        optim.step()
        priorities = td_error.detach().abs().tolist()
        if step % 10 == 0:
            print(f"{step} loss {loss.item():.4f} max priority {max(priorities):.3f}")


main()
