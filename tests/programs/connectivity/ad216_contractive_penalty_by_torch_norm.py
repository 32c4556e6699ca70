"""A regressor whose slope at its inputs is to be small: the slope is taken without a graph, so that nothing is held."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(40):
    readings = torch.randn(48, 5, requires_grad=True)
    predicted = net(readings)
    (slope,) = torch.autograd.grad(predicted.sum(), readings, retain_graph=True)
    steepness = torch.norm(slope, p=2, dim=1).mean()
    loss = nn.functional.mse_loss(predicted, readings.detach().prod(1, keepdim=True)) + 0.1 * steepness  # expect: AD216
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
