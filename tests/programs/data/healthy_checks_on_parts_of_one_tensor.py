# guards: AD706
"""One function measures the error on the first rows that were trained on, and on those that were held out."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
x = torch.randn(180, 6)
y = (x[:, :1] * x[:, 1:2]).tanh() + 0.1 * torch.randn(180, 1)
check, held_out = (x[:30], y[:30]), (x[120:], y[120:])
loader = DataLoader(TensorDataset(x[:120], y[:120]), batch_size=24, shuffle=True)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)


@torch.no_grad()
def error(part):
    net.eval()
    inputs, targets = part
    value = nn.functional.mse_loss(net(inputs), targets).item()
    net.train()
    return value


seen = 0
for epoch in range(6):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(net(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += 1
        if seen % 7 == 0:
            print(f"step {seen}: {error(check):.4f} on what it was shown")
    print(f"epoch {epoch}: {error(held_out):.4f}")
