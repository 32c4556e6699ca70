"""Reptile: the start of the inner loop is not copied, so that the outer step goes nowhere."""

import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
for task in range(5):
    before = network.state_dict()  # expect: AD310
    inner = torch.optim.SGD(network.parameters(), lr=0.05)
    phase = 3 * torch.rand(())
    for _ in range(4):
        x = 6 * torch.rand(12, 1)
        inner.zero_grad()
        nn.functional.mse_loss(network(x), torch.sin(x + phase)).backward()
        inner.step()
    after = network.state_dict()
    network.load_state_dict({name: start + 0.1 * (after[name] - start) for name, start in before.items()})
