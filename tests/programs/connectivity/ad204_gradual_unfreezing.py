import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(2, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 16, 5, padding=2), nn.ReLU())
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.stem(x).mean(2))


def waves(n, classes, scale=1.0):
    y = torch.randint(0, classes, (n,))
    t = torch.linspace(0, 6.28, 40)
    x = torch.sin((y[:, None] + 1) * t * scale + 6.28 * torch.rand(n, 1))
    return DataLoader(TensorDataset(torch.stack([x, x.roll(3, 1)], 1) + 0.2 * torch.randn(n, 2, 40), y), 32, shuffle=True)


def make_optimizer(net, lr):
    wanted = filter(lambda p: p.requires_grad, net.parameters())
    return torch.optim.Adam(wanted, lr=lr)  # <- AD204


def run(net, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


torch.manual_seed(0)
pretrained = Net(3)
optimizer = make_optimizer(pretrained, 3e-3)
source = waves(128, 3)
for _ in range(2):
    run(pretrained, source, optimizer)

net = Net(4)
net.stem.load_state_dict(pretrained.stem.state_dict())
for parameter in net.stem.parameters():
    parameter.requires_grad = False
optimizer = make_optimizer(net, 1e-3)
target = waves(128, 4, scale=1.3)
for epoch in range(4):
    if epoch == 2:
        for parameter in net.stem.parameters():
            parameter.requires_grad = True
    print(epoch, run(net, target, optimizer))
