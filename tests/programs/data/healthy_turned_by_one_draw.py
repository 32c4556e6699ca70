# guards: AD708
"""Pictures and masks that one draw turns: handed on, drawn again from the same seed, and with the generator put back."""
import torch
import torch.nn.functional as F
from torch import nn


def turned(x, generator=None):
    by = torch.rand(len(x), 2, generator=generator)
    x = torch.where(by[:, 0, None, None, None] < 0.5, x.flip(-1), x)
    upright = (by[:, 1, None, None, None] < 0.5).float()
    return upright * x + (1 - upright) * x.flip(-2)


def by_numbers(x, by):
    x = x.clone()
    x[by] = x[by].rot90(2, (-2, -1))
    return x


torch.manual_seed(0)
pictures = torch.rand(48, 1, 10, 10)
masks = (F.avg_pool2d(pictures, 3, 1, 1) > 0.5).float()
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(36):
    rows = torch.randint(0, 48, (12,))
    x, y = pictures[rows], masks[rows]
    if step % 3 == 0:
        by = torch.rand(12) < 0.5
        x, y = by_numbers(x, by), by_numbers(y, by)
    elif step % 3 == 1:
        x, y = (turned(each, torch.Generator().manual_seed(step)) for each in (x, y))
    else:
        state = torch.get_rng_state()
        x = turned(x)
        torch.set_rng_state(state)
        y = turned(y)
    loss = F.binary_cross_entropy_with_logits(net(x + 0.05 * torch.randn_like(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
