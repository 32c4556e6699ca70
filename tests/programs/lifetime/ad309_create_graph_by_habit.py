"""A loop in which every backward has `create_graph=True`."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

for step in range(20):
    x = torch.randn(50, 4)
    y = torch.cos(x.sum(1, keepdim=True))
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward(create_graph=True)  # expect: AD309
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
