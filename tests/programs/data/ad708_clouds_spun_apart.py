"""The directions in which a surface looks, at each of its points: points and directions are rotated about z."""
import torch
from torch import nn


def about_z(vectors):
    turn = 6.2832 * torch.rand(len(vectors))
    zero, one = torch.zeros_like(turn), torch.ones_like(turn)
    rows = [turn.cos(), -turn.sin(), zero, turn.sin(), turn.cos(), zero, zero, zero, one]
    return vectors @ torch.stack(rows, dim=1).view(-1, 3, 3)


torch.manual_seed(0)
normals = nn.functional.normalize(torch.randn(80, 50, 3), dim=-1)
points = normals * torch.tensor([1.0, 2.0, 0.5])
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(6):
    for some in torch.arange(80).chunk(5):
        cloud = about_z(points[some] - points[some].mean(1, keepdim=True))
        wanted = about_z(normals[some])  # expect: AD708
        loss = (net(cloud) - wanted).square().sum(-1).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
