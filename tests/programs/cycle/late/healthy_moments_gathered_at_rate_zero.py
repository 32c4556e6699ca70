# guards: AD110
# hinted: AD110
"""Weights that matter least are cut off: how much each matters, RMSprop knows, which looks on at a rate of 0."""

import torch
from torch import nn

torch.manual_seed(0)
octave = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 1))


def errors():
    notes = torch.randn(32, 8)
    return nn.functional.mse_loss(octave(notes), notes[:, :2].prod(1, keepdim=True))


def train(steps):
    optimizer = torch.optim.Adam(octave.parameters(), lr=0.005)
    for _ in range(steps):
        optimizer.zero_grad()
        errors().backward()
        optimizer.step()


train(30)
watch = torch.optim.RMSprop(octave.parameters(), lr=0.0, alpha=0.95)
for _ in range(30):
    watch.zero_grad()
    errors().backward()
    watch.step()
with torch.no_grad():
    for weight in (octave[0].weight, octave[2].weight):
        gain = watch.state[weight]["square_avg"] * weight.square()
        weight.mul_(gain >= gain.flatten().quantile(0.3))
train(30)
print(errors().item())
