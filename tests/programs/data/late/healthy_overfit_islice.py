# guards: AD701
"""A trainer that overfits one batch before the real run."""
import itertools
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build():
    torch.manual_seed(5)
    net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    return net, torch.optim.Adam(net.parameters(), lr=3e-3)


def train(loader, epochs, limit=None):
    net, opt = build()
    for epoch in range(epochs):
        for xb, yb in itertools.islice(loader, limit):
            loss = nn.functional.mse_loss(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return net, loss.item()


torch.manual_seed(0)
x = torch.randn(400, 10)
y = (x[:, :1] * x[:, 1:2]).tanh() + x[:, 2:3]
data = TensorDataset(x[:320], y[:320])
_, small = train(DataLoader(data, batch_size=10), epochs=64, limit=1)
print("one batch:", small)
assert small < 0.05
net, last = train(DataLoader(data, batch_size=10, shuffle=True), epochs=2)
with torch.no_grad():
    print("held out:", nn.functional.mse_loss(net(x[320:]), y[320:]).item())
