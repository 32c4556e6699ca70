# guards: AD601 AD602 AD603 AD604
"""Which plant of a meadow a bee visits: shares, chances and gates, all written with exponentials."""
import torch
from torch import nn


def shares(score):
    weight = (score - score.amax(-1, keepdim=True).detach()).exp()
    return weight / weight.sum(-1, keepdim=True)


def chance(score):
    return 1 / (1 + torch.exp(-score))


class Bee(nn.Module):
    def __init__(self):
        super().__init__()
        self.sees, self.smells = nn.Linear(4, 8), nn.Linear(4, 8)
        self.wants, self.rests = nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, plants):
        h = self.sees(plants).tanh() * chance(self.smells(plants))
        score = self.wants(h).squeeze(-1)
        weight = shares(score)
        mean = (weight[..., None] * h).sum(1)
        return weight, chance(self.rests(mean)).squeeze(-1), shares(0.1 * weight.detach() + score)


torch.manual_seed(7)
bee = Bee()
opt = torch.optim.Adam(bee.parameters(), lr=1e-2)
for step in range(40):
    plants = torch.randn(48, 6, 4)
    visited, rested = plants[..., 0].argmax(1), (plants.mean((1, 2)) > 0).float()
    weight, rest, again = bee(plants)
    loss = nn.functional.nll_loss(weight.clamp_min(1e-8).log(), visited)
    loss = loss + nn.functional.binary_cross_entropy(rest, rested)
    loss = loss - again.gather(1, visited[:, None]).log().mean() + (rested - rest).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
