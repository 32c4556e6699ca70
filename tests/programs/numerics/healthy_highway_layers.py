# guards: AD409
"""Highway layers."""

import torch
import torch.nn as nn

torch.manual_seed(58)


class Highway(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.h = nn.Linear(d, d)
        self.t = nn.Linear(d, d)
        nn.init.constant_(self.t.bias, -4.0)

    def forward(self, x):
        t = torch.sigmoid(self.t(x))
        return torch.relu(self.h(x)) * t + x * (1 - t)


class Net(nn.Module):
    def __init__(self, d=32, depth=8):
        super().__init__()
        self.inp = nn.Linear(10, d)
        self.layers = nn.ModuleList(Highway(d) for _ in range(depth))
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def data(n=64):
    x = torch.randn(n, 10)
    return x, ((x[:, 0] * x[:, 1] + x[:, 2]) > 0).long()


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(60):
    x, y = data()
    out = net(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f} {(out.argmax(1) == y).float().mean():.2f}")
