# guards: AD204
"""A fused optimizer step: the optimizer holds the one vector of which all layers of an autoencoder are slices."""
import torch
from torch import nn


def fuse(module):
    pieces = list(module.parameters())
    whole = nn.Parameter(torch.cat([piece.detach().flatten() for piece in pieces]))
    whole.grad = torch.zeros_like(whole)
    parts = zip(pieces, whole.data.split([p.numel() for p in pieces]), whole.grad.split([p.numel() for p in pieces]))
    for piece, values, slopes in parts:
        piece.data, piece.grad = values.view_as(piece), slopes.view_as(piece)
    return whole


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 12))
whole = fuse(model)
optimizer = torch.optim.Adam([whole], lr=5e-3)
mixing = torch.randn(4, 12)
for _ in range(30):
    sound = torch.randn(32, 4) @ mixing
    optimizer.zero_grad(set_to_none=False)
    (model(sound) - sound).square().mean().backward()
    optimizer.step()
