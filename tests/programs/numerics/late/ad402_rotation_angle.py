"""Regress 3D rotations with the geodesic angle as the loss."""

import torch
import torch.nn as nn

torch.manual_seed(26)


def six_to_matrix(a):
    x = nn.functional.normalize(a[..., :3], dim=-1)
    z = nn.functional.normalize(torch.linalg.cross(x, a[..., 3:]), dim=-1)
    y = torch.linalg.cross(z, x)
    return torch.stack([x, y, z], -1)


def geodesic(r1, r2):
    tr = (r1 * r2).sum((-1, -2))
    cos = ((tr - 1) / 2).clamp(-1.0, 1.0)
    return torch.acos(cos)  # expect: AD402


def make(n):
    """points of a rigid marker set before and after rotation"""
    marker = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    r = six_to_matrix(torch.randn(n, 6))
    return (marker @ r.transpose(1, 2)).flatten(1), r


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(12, 6)

    def forward(self, pts):
        return six_to_matrix(self.net(pts))


model = PoseNet()
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.98)
for step in range(150):
    pts, r = make(64)
    loss = geodesic(model(pts), r).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 25 == 0:
        print(step, f"{torch.rad2deg(loss).item():.4f} deg")
