"""The switch is one of several decorators, under another name; others speak of no_grad in their arguments."""
import functools

import torch
from torch import nn

frozen = torch.no_grad


def labelled(text):
    def wrap(function):
        @functools.wraps(function)
        def inner(*args):
            return function(*args)

        return inner

    return wrap


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 16), nn.Linear(16, 1)

    @labelled("no_grad is not used here")
    @frozen()  # expect: AD201
    @labelled("torch.no_grad()")
    def features(self, x):
        return torch.relu(self.body(x))

    def forward(self, x):
        return self.head(self.features(x))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(10):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
