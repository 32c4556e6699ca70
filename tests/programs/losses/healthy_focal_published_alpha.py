# guards: AD626
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(1280, 6)
y = (x[:, 0] + 0.5 * x[:, 1] > 0.75).long()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
alpha = torch.tensor([0.75, 0.25])


def focal_loss(logits, labels, gamma=2.0):
    plain = nn.functional.cross_entropy(logits, labels, reduction="none")
    weighted = nn.functional.cross_entropy(logits, labels, weight=alpha, reduction="none")
    return ((1 - torch.exp(-plain)) ** gamma * weighted).mean()


for epoch in range(5):
    for rows in torch.randperm(1280).split(64):
        loss = focal_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
