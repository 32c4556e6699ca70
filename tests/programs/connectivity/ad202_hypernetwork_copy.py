"""A hypernetwork writes the weights of a small target layer."""

import torch
from torch import nn


class Hyper(nn.Module):
    def __init__(self, target, code=4):
        super().__init__()
        self.shapes = {n: p.shape for n, p in target.named_parameters()}
        size = sum(s.numel() for s in self.shapes.values())
        self.net = nn.Sequential(nn.Linear(code, 16), nn.ReLU(), nn.Linear(16, size))

    def forward(self, code):
        flat = self.net(code)
        pieces = flat.split([s.numel() for s in self.shapes.values()])
        return {n: piece.view(s) for (n, s), piece in zip(self.shapes.items(), pieces)}


def run_with(target, weights, x):
    for name, p in target.named_parameters():
        p.data.copy_(weights[name])  # expect: AD202
    return target(x)


torch.manual_seed(0)
target = nn.Linear(3, 1)
hyper = Hyper(target)
opt = torch.optim.Adam(hyper.parameters(), lr=1e-2)
for step in range(8):
    code = torch.randn(4)
    x = torch.randn(16, 3)
    y = x @ code[:3, None]
    loss = nn.functional.mse_loss(run_with(target, hyper(code), x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
