import torch
from torch import nn

torch.manual_seed(40)


class DeepRegressor(nn.Module):
    """Plain stack."""

    def __init__(self, d_in, width=64, depth=14):
        super().__init__()
        self.first = nn.Linear(d_in, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.last = nn.Linear(width, 1)
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=0.5)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        h = torch.relu(self.first(x))
        for layer in self.layers:
            h = torch.relu(layer(h))  # expect: AD406
        return self.last(h).squeeze(-1)


def dataset(n):
    x = torch.randn(n, 10)
    return x, torch.sin(x[:, 0]) + x[:, 1] * x[:, 2]


X, Y = dataset(1024)
model = DeepRegressor(10)
opt = torch.optim.Adam(model.parameters(), lr=1e-4)
for step in range(120):
    b = torch.randint(0, 1024, (64,))
    pred = model(X[b])
    loss = (pred - Y[b]).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
        print(f"{step} loss {loss.item():.4g} grad {total.item():.3g}")
