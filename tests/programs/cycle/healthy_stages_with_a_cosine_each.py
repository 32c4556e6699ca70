# guards: AD115
"""A coder trained at ever finer noise: each stage has its cosine, from a rate that is put back at its beginning."""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(12, 4), nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 12))

    def forward(self, x):
        return self.decode(self.encode(x))


def stage(coder, optimizer, noise, steps):
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] = 0.01
    cosine = CosineAnnealingLR(optimizer, T_max=steps)
    for _ in range(steps):
        x = torch.randn(64, 4) @ mixing
        loss = nn.functional.mse_loss(coder(x + noise * torch.randn_like(x)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        cosine.step()
    return loss.item()


torch.manual_seed(0)
mixing = torch.randn(4, 12)
coder = Coder()
optimizer = torch.optim.Adam(coder.parameters(), lr=0.01)
for noise, steps in ((0.5, 7), (0.2, 7), (0.05, 24)):
    print(noise, stage(coder, optimizer, noise, steps))
