# guards: AD216 AD217
"""A regression on what an earlier one proposed, fitted by hand in NumPy and pulled to the weights of that one."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])

first = nn.Linear(3, 1)
optimizer = torch.optim.Adam(first.parameters(), lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(first(x), y).backward()
    optimizer.step()
prior = first.weight.detach().clone()
given, wanted = torch.cat([x, 2 * prior]), torch.cat([y, torch.ones(1, 1)])
second = nn.Linear(3, 1, bias=False)
second.spread = nn.Parameter(torch.zeros(1))
values = np.zeros(4, dtype=np.float32)
for _ in range(40):
    with torch.no_grad():
        second.weight.copy_(torch.from_numpy(values[None, :3]))
        second.spread.copy_(torch.from_numpy(values[3:]))
    loss = -torch.distributions.Normal(second(given), second.spread.exp()).log_prob(wanted).mean()
    loss = loss + 0.1 * ((second.weight - prior) ** 2).sum()
    second.zero_grad()
    loss.backward()
    values = values - 0.05 * np.append(second.weight.grad.numpy(), second.spread.grad.numpy())
print(f"loss {loss.item():.4f}")
