"""Blocks of several branches that are fused into one convolution while they are evaluated."""
import torch
import torch.nn as nn
import torch.nn.functional as F

gen = torch.Generator().manual_seed(11)
torch.manual_seed(11)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide = nn.Conv2d(width, width, 3, padding=1)
        self.narrow = nn.Conv2d(width, width, 1, bias=False)
        self.register_buffer("identity", F.pad(torch.eye(width)[:, :, None, None], (1, 1, 1, 1)))
        self.is_fused = False

    def forward(self, x):
        if self.is_fused:
            return F.relu(self.wide(x))
        return F.relu(self.wide(x) + self.narrow(x) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.out = nn.Linear(8, 2)

    def fuse(self):
        for block in self.blocks:
            kernel = F.pad(block.narrow.weight.data, (1, 1, 1, 1)) + block.identity
            block.wide.weight.data.add_(kernel)
            block.is_fused = True

    def split(self):
        for block in self.blocks:
            block.is_fused = False

    def train(self, mode=True):
        if mode:
            self.split()  # <- AD126
        return super().train(mode)

    def eval(self):
        self.fuse()
        return super().eval()

    def forward(self, x):
        return self.out(self.blocks(F.relu(self.stem(x))).mean((2, 3)))


def pictures(n):
    """Stripes that run up and down, or across."""
    labels = torch.randint(0, 2, (n,), generator=gen)
    waves = torch.sin(torch.arange(10.0) * 1.6 + 6.3 * torch.rand(n, 1, generator=gen))
    images = torch.where(labels[:, None, None] > 0, waves[:, :, None].expand(n, 10, 10), waves[:, None, :])
    return (images + 0.3 * torch.randn(n, 10, 10, generator=gen))[:, None], labels


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
val_x, val_y = pictures(64)
for epoch in range(4):
    net.train()
    for _ in range(8):
        x, y = pictures(32)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, (net(val_x).argmax(1) == val_y).float().mean().item())
