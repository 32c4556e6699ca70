# guards: AD211
"""Validation without gradients in eval mode, batch-norm at rest."""
import torch
import torch.nn as nn


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()

    def batch(self, n):
        y = torch.randint(0, 2, (n,))
        t = torch.linspace(0, 6.28, 30)
        x = torch.sin((1 + y.unsqueeze(1)) * t + torch.rand(n, 1)) + 0.3 * torch.randn(n, 30)
        return x.unsqueeze(1), y

    def train(self, n):
        self.net.train()
        for _ in range(n):
            x, y = self.batch(32)
            self.opt.zero_grad()
            loss = self.loss(self.net(x), y)
            loss.backward()
            self.opt.step()
        return loss.item()

    def validate(self, n):
        self.net.eval()
        right = 0
        with torch.no_grad():
            for _ in range(n):
                x, y = self.batch(50)
                right += (self.net(x).argmax(1) == y).sum().item()
        return right / (50 * n)


torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv1d(1, 8, 7, stride=2, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 2)
)
trainer = Trainer(net)
for epoch in range(4):
    print(epoch, trainer.train(7), trainer.validate(3))
