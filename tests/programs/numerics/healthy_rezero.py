# guards: AD410 AD407 AD411
import torch
import torch.nn as nn

torch.manual_seed(72)


class ReZero(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.alpha * self.f(x)


net = nn.Sequential(nn.Linear(6, 32), *[ReZero(32) for _ in range(12)], nn.Linear(32, 1))


def data(n=64):
    x = torch.randn(n, 6)
    return x, torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]


alphas = [m.alpha for m in net if isinstance(m, ReZero)]
ids = {id(p) for p in alphas}
opt = torch.optim.Adam(
    [
        {"params": [p for p in net.parameters() if id(p) not in ids], "lr": 2e-3},
        {"params": alphas, "lr": 1e-2},
    ]
)
for step in range(60):
    x, y = data()
    loss = nn.functional.mse_loss(net(x).squeeze(-1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0:
        print(step, f"{loss.item():.4f}", [round(a.item(), 2) for a in alphas[:4]])
