# guards: AD402
# joint angles from unit vectors
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(90)


def angle(u, v):
    u, v = F.normalize(u, dim=-1), F.normalize(v, dim=-1)
    cos = (u * v).sum(-1)
    return torch.atan2(torch.linalg.cross(u, v).square().sum(-1).add(1e-12).sqrt(), cos)


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 3))

    def forward(self, x):
        return x + self.f(x)


rot = torch.linalg.qr(torch.randn(3, 3))[0]
net = Pose()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(250):
    x = torch.randn(64, 3)
    y = x @ rot.t()
    y[0] = net(x[:1]).detach()[0]
    loss = angle(net(x), y).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, f"{torch.rad2deg(loss).item():.3f} deg")
