# guards: AD111
"""Where and when a quake began, from the arrivals of its waves: what is learned of the time is small, and large."""
import torch
from torch import nn

torch.manual_seed(22)
stations = torch.rand(60, 2) * 100
paths = (stations - torch.tensor([42.0, 63.0])).norm(dim=1)
arrivals = 37.0 + paths / 6.0 + 0.2 * torch.randn(60)
place = nn.Parameter(torch.tensor([50.0, 50.0]))
milliseconds = nn.Parameter(torch.tensor(30_000.0))
slowness = nn.Parameter(torch.tensor(0.2))
adam = torch.optim.Adam(
    [{"params": [place], "lr": 0.5}, {"params": [milliseconds], "lr": 300.0}, {"params": [slowness], "lr": 2e-3}]
)
for turn in range(40):
    which = torch.randint(0, 60, (24,))
    late = arrivals[which] - milliseconds / 1000 - (stations[which] - place).norm(dim=1) * slowness
    misfit = nn.functional.huber_loss(late / 10, torch.zeros_like(late))
    adam.zero_grad()
    misfit.backward()
    adam.step()
print(misfit.item(), milliseconds.item())
