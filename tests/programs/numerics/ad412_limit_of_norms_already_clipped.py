"""A recurrent model of waves, whose clipping is to follow the gradients, and follows what it has left of them."""

import torch
from torch import nn


class Waves(nn.Module):
    def __init__(self, units=16):
        super().__init__()
        self.cell = nn.GRU(1, units, batch_first=True)
        self.out = nn.Linear(units, 1)

    def forward(self, x):
        return self.out(self.cell(x)[0])


class Clipper:
    """To the mean of the norms so far, which begins next to nothing, so that nothing is divided by zero."""

    def __init__(self, keep=0.9, tiny=1e-7):
        self.keep, self.mean = keep, tiny

    def __call__(self, model):
        nn.utils.clip_grad_norm_(model.parameters(), self.mean)  # expect: AD412
        norm = sum(p.grad.square().sum() for p in model.parameters()).sqrt().item()
        self.mean = self.keep * self.mean + (1 - self.keep) * norm


torch.manual_seed(0)
model = Waves()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
clip = Clipper()
for step in range(40):
    start = torch.rand(16, 1, 1) * 6
    wave = torch.sin(start + 0.3 * torch.arange(13).view(1, -1, 1))
    loss = nn.functional.mse_loss(model(wave[:, :-1]), wave[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    clip(model)
    optimizer.step()
