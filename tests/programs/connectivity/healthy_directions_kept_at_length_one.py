# guards: AD215
"""Filters of which only the directions count are brought back to length one whenever the model trains."""

import torch
from torch import nn


class Directions(nn.Conv1d):
    def forward(self, signal):
        if self.training:
            self.weight.data /= self.weight.data.norm(dim=(1, 2), keepdim=True)
        weight = self.weight / self.weight.norm(dim=(1, 2), keepdim=True)
        return nn.functional.conv1d(signal, weight, padding=2)


torch.manual_seed(0)
net = nn.Sequential(
    Directions(1, 8, 5, bias=False), nn.ReLU(), Directions(8, 8, 5, bias=False), nn.Flatten(), nn.Linear(160, 3)
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
beats = torch.linspace(0, 6, 20)
for _ in range(30):
    pace = torch.randint(3, (24,))
    phase = 6 * torch.rand(24, 1)
    signal = torch.sin((1 + pace[:, None]) * beats + phase).unsqueeze(1) + 0.2 * torch.randn(24, 1, 20)
    loss = nn.functional.cross_entropy(net(signal), pace)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
