# guards: AD708
"""What an agent sees now and next are padded and shifted by draws of their own; and views of one picture meet a decoder."""
import torch
import torch.nn.functional as F
from torch import nn


def shifted(x):
    padded = F.pad(x, (2, 2, 2, 2), mode="replicate")
    grid = F.affine_grid(torch.eye(2, 3).expand(len(x), 2, 3), padded.shape, align_corners=False)[:, 2:-2, 2:-2]
    return F.grid_sample(padded, grid + torch.randint(-2, 3, (len(x), 1, 1, 2)) / 7, align_corners=False)


def head():
    return nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(384, 3))


torch.manual_seed(0)
seen, actions = torch.rand(80, 1, 10, 10), torch.randint(0, 3, (80,))
after, rewards = 0.9 * seen.roll(1, -1), seen.mean((1, 2, 3))
critic, target = head(), head().requires_grad_(False)
target.load_state_dict(critic.state_dict())
paint = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 3, padding=1))
optimizer = torch.optim.Adam([*critic.parameters(), *paint.parameters()], lr=1e-3)
for _ in range(30):
    rows = torch.randint(0, 80, (12,))
    now, later = shifted(seen[rows]), shifted(after[rows])
    with torch.no_grad():
        wanted = rewards[rows] + 0.9 * target(later).amax(1)
    valued = critic(now).gather(1, actions[rows, None]).squeeze(1)
    turned = torch.rand(12, 1, 1, 1) < 0.5
    upright = paint(torch.where(turned, seen[rows].flip(-1), seen[rows]))
    upright = torch.where(turned, upright.flip(-1), upright)
    loss = F.mse_loss(valued, wanted) + F.l1_loss(paint(now), shifted(seen[rows])) + F.l1_loss(upright, after[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, weight in zip(target.parameters(), critic.parameters()):
            mean.lerp_(weight, 0.05)
