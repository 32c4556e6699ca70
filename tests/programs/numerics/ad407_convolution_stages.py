from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Args:
    depth: int = 8
    ch: int = 12
    lr: float = 0.05
    iters: int = 100


args = Args()
torch.manual_seed(49)


class Stage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)

    def forward(self, x):
        return torch.sigmoid(self.conv(x))  # expect: AD407


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList(Stage(1 if i == 0 else args.ch, args.ch) for i in range(args.depth))
        self.fc = nn.Linear(args.ch, 4)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.fc(x.mean((2, 3)))


def quadrant(n=24):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 8, 8) * 0.3
    for i, k in enumerate(y.tolist()):
        x[i, 0, 4 * (k // 2) : 4 * (k // 2) + 4, 4 * (k % 2) : 4 * (k % 2) + 4] += 2 + k
    return x / 3, y


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
for it in range(args.iters):
    x, y = quadrant()
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
