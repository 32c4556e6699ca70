# guards: AD123
"""A tenth of the rate of 0.1 for two epochs, then all of it; an inverse square root with a base of 1 beside it."""

import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(96, 5)
y = (x[:, :1] * x[:, 1:2]).sign()
left, right = (nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1)) for _ in range(2))
sgd = torch.optim.SGD(left.parameters(), lr=0.1, momentum=0.5)
adam = torch.optim.Adam(right.parameters(), lr=1.0)
stages = torch.optim.lr_scheduler.LambdaLR(sgd, lambda epoch: 0.1 if epoch < 2 else 1.0)
root = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: 0.05 * min((step + 1) / 4, (4 / (step + 1)) ** 0.5))
for epoch in range(5):
    for rows in torch.randperm(96).split(32):
        for model, optimizer in ((left, sgd), (right, adam)):
            loss = nn.functional.soft_margin_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        root.step()
    stages.step()
    print(epoch, loss.item(), stages.get_last_lr(), root.get_last_lr())
