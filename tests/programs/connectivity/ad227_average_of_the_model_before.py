"""A denoiser that is built anew when its width is known; the average still follows the first one."""

import torch
from torch import nn

torch.manual_seed(0)


def build(width):
    return nn.Sequential(nn.Linear(9, width), nn.SiLU(), nn.Linear(width, 8))


class Average:
    def __init__(self, model, decay=0.99):
        self.model, self.decay = model, decay
        self.kept = build(model[0].out_features).requires_grad_(False)
        self.kept.load_state_dict(model.state_dict())

    @torch.no_grad()
    def update(self):
        for kept, weight in zip(self.kept.parameters(), self.model.parameters(), strict=True):
            kept.lerp_(weight, 1 - self.decay)  # expect: AD227


model = build(32)
average = Average(model)
model = build(32)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(30):
    clean, level = torch.randn(32, 8).cumsum(1), torch.rand(32, 1)
    noise = torch.randn(32, 8)
    loss = (model(torch.cat([clean + level * noise, level], dim=1)) - noise).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update()
