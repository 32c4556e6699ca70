# guards: AD219 AD301
"""Online learner that keeps its losses in a list and runs one backward for every four of them, the rest at the end."""
import torch
from torch import nn


class OnlineLearner:
    def __init__(self, model, every=4):
        self.model, self.every = model, every
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        self.pending, self.seen = [], []

    def observe(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        self.pending.append(loss)
        if len(self.pending) == self.every:
            self.flush()

    def flush(self):
        if not self.pending:
            return
        total = torch.stack(self.pending).mean()
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        self.seen.append(total.item())
        self.pending.clear()


torch.manual_seed(0)
learner = OnlineLearner(nn.Linear(5, 1))
w = torch.randn(5, 1)
for i in range(90):
    x = torch.randn(8, 5)
    learner.observe(x, x @ w)
learner.flush()
print("first", learner.seen[0], "last", learner.seen[-1])
