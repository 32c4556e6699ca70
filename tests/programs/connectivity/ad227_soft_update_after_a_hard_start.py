import random
from collections import deque

import torch
from torch import nn


def net():
    return nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 4))


class Learner:
    def __init__(self, tau=0.05):
        self.q, self.q_slow, self.tau = net(), net(), tau
        self.q_slow.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = deque(maxlen=500)

    def learn(self):
        s, a, r, s2 = map(torch.stack, zip(*random.sample(self.memory, 32)))
        with torch.no_grad():
            goal = r + 0.9 * self.q_slow(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(self.q(s).gather(1, a[:, None]).squeeze(1), goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.track()

    @torch.no_grad()
    def track(self):
        for fast, slow in zip(self.q.parameters(), self.q_slow.parameters()):
            slow = self.tau * fast + (1 - self.tau) * slow  # <- AD227


def main():
    random.seed(0)
    torch.manual_seed(0)
    learner = Learner()
    state = torch.randn(3)
    for move in range(60):
        action = torch.tensor(random.randrange(4))
        after = torch.tanh(state + 0.3 * torch.randn(3) + 0.1 * action)
        learner.memory.append((state, action, after.sum() - state.abs().sum(), after))
        state = after
        if len(learner.memory) >= 36:
            learner.learn()


if __name__ == "__main__":
    main()
