"""A keyword spotter is trained in full precision, and a copy of it with weights that each forward rounds, and keeps so."""

import torch
import torch.nn.functional as F
from torch import nn


def rounded(weight, levels=4):
    scale = weight.abs().max() / levels
    return (weight / scale).round() * scale


class RoundedLinear(nn.Linear):
    def forward(self, x):
        self.weight.data = rounded(self.weight.data)  # expect: AD215
        return F.linear(x, self.weight, self.bias)


def spotter(layer):
    return nn.Sequential(layer(20, 32), nn.ReLU(), layer(32, 4))


def train(model, steps, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        word = torch.randint(0, 4, (32,))
        sound = torch.randn(32, 20) + F.one_hot(word, 20)
        optimizer.zero_grad()
        F.cross_entropy(model(sound), word).backward()
        optimizer.step()


torch.manual_seed(0)
full, small = spotter(nn.Linear), spotter(RoundedLinear)
train(full, 24, 0.1)
small.load_state_dict(full.state_dict())
train(small, 24, 0.01)
