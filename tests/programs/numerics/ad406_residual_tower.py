import torch
import torch.nn as nn

torch.manual_seed(43)


class Unit(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv1d(c, c, 3, padding=1)
        self.b = nn.Conv1d(c, c, 3, padding=1)
        for m in (self.a, self.b):
            nn.init.kaiming_normal_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))  # expect: AD406


class Tower(nn.Module):
    def __init__(self, c=16, depth=18):
        super().__init__()
        self.stem = nn.Conv1d(1, c, 5, padding=2)
        self.units = nn.ModuleList(Unit(c) for _ in range(depth))
        self.head = nn.Linear(c, 1)

    def forward(self, x):
        x = self.stem(x)
        for unit in self.units:
            x = unit(x)
        return self.head(x.mean(-1))[:, 0]


def waves(n=16):
    f = torch.rand(n, 1) * 5 + 1
    return torch.sin(f * torch.linspace(0, 6.28, 32))[:, None], f[:, 0] / 3 - 1


model = Tower()
opt = torch.optim.Adam(model.parameters(), lr=1e-4)
for i in range(36):
    x, f = waves()
    out = model(x)
    loss = nn.functional.mse_loss(out, f)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 6 == 0:
        print(i, f"{loss.item():.4g}", f"{model.stem.weight.grad.norm():.3g}")
