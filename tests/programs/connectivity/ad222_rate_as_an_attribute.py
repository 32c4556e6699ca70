"""The rate is lowered by an attribute that no optimizer reads."""
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(256, 8)
y = x.sum(1, keepdim=True)
for epoch in range(8):
    if epoch and epoch % 2 == 0:
        opt.lr = 0.1 * 0.5 ** (epoch // 2)  # expect: AD222
    for rows in torch.randperm(256).split(64):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
