"""A residual branch that scales its input in place for speed: the skip connection adds the scaled values."""

import torch
from torch import nn


class ScaleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features, gain):  # expect: AD507
        ctx.save_for_backward(features.clone(), gain)
        features *= gain
        return features * 1.0

    @staticmethod
    def backward(ctx, grad):
        features, gain = ctx.saved_tensors
        return grad * gain, (grad * features).sum(dim=(0, 1))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.gain = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, tokens):
        features = self.project(tokens)
        branch = torch.relu(ScaleFunction.apply(features, self.gain))
        return torch.tanh(features + branch)


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), Block(12), nn.Linear(12, 2))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.criterion = nn.MSELoss()

    def step(self):
        readings = torch.randn(16, 5, 6)
        target = torch.stack([readings.sum(-1), readings[..., 0] * readings[..., 1]], dim=-1)
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(readings), target)
        loss.backward()
        self.optimizer.step()


torch.manual_seed(0)
trainer = Trainer()
for _ in range(20):
    trainer.step()
