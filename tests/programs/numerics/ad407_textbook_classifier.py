# MNIST-like classifier from a 2006 textbook
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(45)
templates = torch.rand(10, 64)


def digits(n):
    y = torch.randint(0, 10, (n,))
    return (templates[y] + 0.2 * torch.randn(n, 64)), y


class Net(nn.Module):
    def __init__(self, sizes=(64, 48, 48, 48, 48, 48, 48, 48)):
        super().__init__()
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.out = nn.Linear(sizes[-1], 10)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.sigmoid(layer(x))  # expect: AD407
        return self.out(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
running = 0.0
for i in range(300):
    x, y = digits(50)
    optimizer.zero_grad()
    out = net(x)
    loss = F.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    running += loss.item()
    if i % 30 == 29:
        print("[%d] loss: %.3f" % (i + 1, running / 30))
        running = 0.0
x, y = digits(500)
with torch.no_grad():
    print("accuracy", (net(x).argmax(1) == y).float().mean().item())
