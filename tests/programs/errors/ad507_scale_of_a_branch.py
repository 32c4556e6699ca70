"""Two streams of a video model are added; a function is to let the gradient of the second one through at a tenth. It
multiplies what it is given, which the first stream gets as well."""

import torch
from torch import nn


class Damp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features, factor):
        ctx.factor = factor
        return features.view_as(features)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.mul_(ctx.factor), None  # expect: AD507


class TwoStreams(nn.Module):
    def __init__(self):
        super().__init__()
        self.frames = nn.Sequential(nn.Conv3d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 16, 3, padding=1))
        self.motion = nn.Sequential(nn.Conv3d(2, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 16, 3, padding=1))
        self.head = nn.Linear(16, 4)

    def forward(self, frames, motion):
        joint = self.frames(frames) + Damp.apply(self.motion(motion), 0.1)
        return self.head(torch.relu(joint).mean((2, 3, 4)))


torch.manual_seed(0)
model = TwoStreams()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(8):
    frames, motion = torch.randn(4, 3, 4, 6, 6), torch.randn(4, 2, 4, 6, 6)
    target = (frames.mean((1, 2, 3, 4)) > 0).long() + 2 * (motion.mean((1, 2, 3, 4)) > 0).long()
    loss = nn.functional.cross_entropy(model(frames, motion), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
