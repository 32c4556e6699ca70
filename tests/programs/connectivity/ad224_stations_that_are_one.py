"""A model of a river has a layer for the rain and one for the flow; its dictionary was filled from one default."""

import torch
from torch import nn


class Catchment(nn.Module):
    def __init__(self, fields=("rain", "flow")):
        super().__init__()
        self.embed = nn.ModuleDict(dict.fromkeys(fields, nn.Linear(7, 24)))  # expect: AD224
        self.decide = nn.Sequential(nn.ReLU(), nn.Linear(24, 1))

    def forward(self, fields):
        return self.decide(sum(self.embed[name](values) for name, values in fields.items()))


torch.manual_seed(0)
model = Catchment()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(20):
    rain = torch.rand(32, 7) ** 4
    flow = 1.0 + 0.3 * torch.randn(32, 7)
    level = 0.6 * flow[:, -1:] + rain.sum(1, keepdim=True)
    loss = nn.functional.mse_loss(model({"rain": rain, "flow": flow}), level)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
