"""Sets of measurements; a set is summed up by weights that are learned from its members."""
import torch
from torch import nn


class WeightedPool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rate = nn.Sequential(nn.Linear(width, 12), nn.Tanh(), nn.Linear(12, 1))
        self.normalise = nn.Softmax(dim=2)

    def forward(self, members):
        weights = self.normalise(self.rate(members))  # expect: AD613
        return torch.einsum("nsk,nsd->nd", weights, members)


class SetRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(4, 20), nn.SiLU())
        self.pool = WeightedPool(20)
        self.out = nn.Linear(20, 1)

    def forward(self, sets):
        return self.out(self.pool(self.embed(sets))).squeeze(1)


torch.manual_seed(0)
model = SetRegressor()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(40):
    sets = torch.randn(24, 9, 4)
    loss = nn.functional.mse_loss(model(sets), sets[..., 0].amax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
