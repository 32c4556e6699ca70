# guards: AD708
"""Each plot was photographed four times and rated by three people: which photograph, and whose rating, is drawn apart."""
import torch
from torch import nn

torch.manual_seed(0)
photographs = torch.randn(50, 1, 12) + 0.3 * torch.randn(50, 4, 12)
ratings = photographs.mean(1, keepdim=True)[..., :5] + 0.2 * torch.randn(50, 3, 5)
model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(6):
    for plots in torch.randperm(50).split(10):
        seen = photographs[plots, torch.randint(0, 4, (10,))]
        rated = ratings[plots].gather(1, torch.randint(0, 3, (10, 1, 1)).expand(-1, -1, 5)).squeeze(1)
        loss = nn.functional.mse_loss(model(seen), rated)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
