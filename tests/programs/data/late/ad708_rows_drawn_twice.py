"""Predicts the drag of profiles; batches are drawn with replacement, by a call for each side."""

import numpy as np
import torch


class Table:
    def __init__(self, rows, seed):
        self.rng = np.random.default_rng(seed)
        self.shape = self.rng.normal(size=(rows, 7)).astype(np.float32)
        noise = 0.05 * self.rng.normal(size=rows)
        self.drag = (np.abs(self.shape[:, 0]) + self.shape[:, 3] ** 2 + noise).astype(np.float32)

    def batch(self, size):
        return [torch.from_numpy(part) for part in self.draw(size)]  # expect: AD708

    def draw(self, size):
        return [self.rng.choice(side, size) for side in (self.shape, self.drag)]


def mean_squares(net, x, y):
    return (net(x).flatten() - y).square().mean()


torch.manual_seed(0)
table = Table(600, seed=3)
net = torch.nn.Sequential(torch.nn.Linear(7, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(120):
    loss = mean_squares(net, *table.batch(48))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
