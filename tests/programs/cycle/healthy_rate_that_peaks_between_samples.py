# guards: AD123 AD412
"""A schedule that starts at the share of a tenth, rises to all of the rate of 0.1 for two steps, and comes back."""
import torch
from torch import nn

torch.manual_seed(9)
wire = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1))
sgd = torch.optim.SGD(wire.parameters(), lr=0.1)
share = torch.optim.lr_scheduler.LambdaLR(sgd, lambda turn: 1.0 if turn in (13, 14) else 0.1)
for turn in range(28):
    load = torch.rand(48, 3)
    sag = (load * torch.tensor([1.0, 0.5, 0.2])).sum(1, keepdim=True)
    loss = nn.functional.mse_loss(wire(load), sag)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    share.step()
print(loss.item())
