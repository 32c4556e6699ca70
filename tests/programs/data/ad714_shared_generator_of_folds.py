import random

import torch
import torch.nn.functional as F


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(5, width)
        self.out = torch.nn.Linear(width, 3)

    def forward(self, x):
        return self.out(torch.relu(self.inner(x)))


class Runner:
    def __init__(self, rows):
        random.seed(4)
        torch.manual_seed(4)
        self.net = Net(12)
        self.opt = torch.optim.Adam(self.net.parameters(), 1e-2)
        self.order = list(range(rows))
        random.shuffle(self.order)
        self.x = torch.randn(rows, 5)
        self.y = self.x[:, :3].argmax(1)
        self.minibatches = (torch.tensor(self.order[i : i + 10]) for i in range(0, rows, 10))

    def one_epoch(self):
        self.net.train()
        total = 0.0
        for step, rows in enumerate(self.minibatches):  # <- AD714
            self.opt.zero_grad()
            loss = F.cross_entropy(self.net(self.x[rows]), self.y[rows])
            loss.backward()
            self.opt.step()
            total += loss.item() / (step + 1)
        return total

    @torch.no_grad()
    def accuracy(self):
        self.net.eval()
        return (self.net(self.x).argmax(1) == self.y).float().mean().item()

    def fit(self, epochs):
        for epoch in range(epochs):
            total = self.one_epoch()
            print(epoch, round(total, 3), round(self.accuracy(), 3))


if __name__ == "__main__":
    Runner(120).fit(6)
