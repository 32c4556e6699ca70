# guards: AD721
# hinted: AD721
"""A model of swings learns from soft pushes, and is asked what it makes of hard ones, drawn by the same function."""
import torch
from torch import nn


class Swing(nn.Module):
    """What a push does: an even and an odd share of it, learned by two small networks."""

    def __init__(self):
        super().__init__()
        self.odd = nn.Linear(4, 4, bias=False)
        self.even = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 4))

    def forward(self, push):
        return self.odd(push) + self.even(push.abs())


def pushes(count, strength):
    return strength * (torch.rand(count, 4) + 0.2) * (torch.randint(0, 2, (count, 4)) * 2 - 1)


def answers(push):
    return 0.7 * push + 0.1 * push.roll(1, dims=1).abs()


torch.manual_seed(4)
known = pushes(400, strength=0.5)
swing = Swing()
optimizer = torch.optim.Adam(swing.parameters(), lr=0.01)
for epoch in range(4):
    for rows in torch.randperm(len(known)).split(50):
        loss = nn.functional.mse_loss(swing(known[rows]), answers(known[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    swing.eval()
    with torch.no_grad():
        hard = pushes(100, strength=40.0)
        off = (swing(hard) - answers(hard)).abs().mean() / answers(hard).abs().mean()
    print(epoch, loss.item(), off.item())
    swing.train()
