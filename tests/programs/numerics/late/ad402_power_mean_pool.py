import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(25)


class Pool(nn.Module):
    """Power-mean pooling over positions."""

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, f):
        powered = f**self.p  # expect: AD402
        return powered.mean((2, 3)) ** (1.0 / self.p)


class Net(nn.Module):
    def __init__(self, nc=3):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 16, 3, padding=1)
        self.pool = Pool()
        self.fc = nn.Linear(16, nc)

    def forward(self, x):
        x = F.softplus(self.c1(x))
        x = F.relu(self.c2(x) + 4.0)
        return self.fc(self.pool(x))


def textures(n):
    y = torch.randint(0, 3, (n,))
    u = torch.arange(12.0)
    fx = torch.tensor([0.5, 1.5, 0.0])[y].view(-1, 1, 1)
    fy = torch.tensor([0.5, 0.0, 1.5])[y].view(-1, 1, 1)
    img = torch.sin(fx * u.view(1, 1, -1) + fy * u.view(1, -1, 1) + 6.28 * torch.rand(n, 1, 1))
    return (img + 0.2 * torch.randn(n, 12, 12)).unsqueeze(1), y


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
losses = []
for step in range(120):
    x, y = textures(32)
    opt.zero_grad()
    out = net(x)
    loss = F.cross_entropy(out, y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
    if step % 10 == 9:
        print(step + 1, sum(losses[-10:]) / 10)
