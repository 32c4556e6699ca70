# guards: AD709
# hinted: AD709
"""Heights of dikes are judged by the same storms in each step, and by other ones, always the same, now and then."""

import torch
from torch import nn


class Dikes(nn.Module):
    def __init__(self, places):
        super().__init__()
        self.raised = nn.Parameter(torch.full((places,), 1.5))

    def forward(self, surge):
        above = surge - nn.functional.softplus(self.raised)
        damage = 4 * nn.functional.softplus(3 * above).mean()
        return damage + 0.4 * nn.functional.softplus(self.raised).mean()


def storms(count, seed):
    torch.manual_seed(seed)
    tide = 0.3 * torch.randn(count, 1)
    wind = torch.distributions.Gumbel(0.5, 0.4).sample((count, 6))
    return tide + wind


dikes = Dikes(6)
optimizer = torch.optim.Adam(dikes.parameters(), lr=0.02)
for season in range(48):
    cost = dikes(storms(200, seed=11))
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
    if season % 12 == 11:
        with torch.no_grad():
            print(season, cost.item(), dikes(storms(2000, seed=4)).item())
