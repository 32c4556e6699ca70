# guards: AD626
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(9000, 6)
y = (x[:, 0] + 0.5 * x[:, 1] + 0.3 * torch.randn(9000) > 1.5).long()
keep = (y == 1) | (torch.rand(9000) < 1 / 3)
x, y = x[keep][:2560], y[keep][:2560]
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([3.0, 1.0]))
for epoch in range(3):
    for rows in torch.randperm(len(x)).split(64):
        loss = criterion(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, y.float().mean().item(), loss.item())
