import torch
import torch.nn as nn

torch.manual_seed(50)


class Scorer(nn.Module):
    """Credit scoring on seven standardised attributes."""

    def __init__(self):
        super().__init__()
        self.h1 = nn.Linear(7, 48)
        self.h2 = nn.Linear(48, 24)
        self.out = nn.Linear(24, 1)
        nn.init.constant_(self.h2.bias, -6.0)

    def forward(self, x):
        x = torch.relu(self.h1(x))
        x = torch.relu(self.h2(x))  # expect: AD408
        return self.out(x).squeeze(1)


def applicants(n):
    x = torch.randn(n, 7)
    y = (x[:, 0] - x[:, 3] + 0.5 * x[:, 5] + 0.3 * torch.randn(n) > 0).float()
    return x, y


X, y = applicants(1000)
model = Scorer()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
lossf = nn.BCEWithLogitsLoss()
for epoch in range(10):
    perm = torch.randperm(1000)
    hits = 0
    for i in range(0, 1000, 50):
        b = perm[i : i + 50]
        out = model(X[b])
        loss = lossf(out, y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits += ((out > 0).float() == y[b]).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {hits / 1000:.3f}")
