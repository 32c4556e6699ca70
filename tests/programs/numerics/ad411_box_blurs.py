import torch
import torch.nn as nn

torch.manual_seed(66)


def make_kernel(cout, cin, k):
    """start from a box blur"""
    return torch.ones(cout, cin, k, k) / (cin * k * k)


class EdgeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, 2)
        self.conv2.weight = nn.Parameter(make_kernel(16, 8, 3))  # expect: AD411
        nn.init.zeros_(self.conv2.bias)
        self.fc.weight.data = torch.tensor([[0.1], [-0.1]]).repeat(1, 16)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.fc(x.mean((2, 3)))


def stripes(n=32):
    y = torch.randint(0, 2, (n,))
    ph = torch.randint(0, 2, (n, 1, 1))
    a = (torch.arange(10) // 2 % 2).float()
    v = a.view(1, 1, -1).expand(n, 10, 10)
    h = a.view(1, -1, 1).expand(n, 10, 10)
    img = torch.where(y[:, None, None] == 1, v, h)
    img = torch.where(ph == 1, 1 - img, img)
    return (img + 0.1 * torch.randn(n, 10, 10)).unsqueeze(1), y


net = EdgeNet()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for step in range(120):
    x, y = stripes()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 12 == 0:
        print(step, f"{loss.item():.4f}")
