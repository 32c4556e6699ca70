# guards: AD111
"""Songs by genre: a small network is held in float32 and lives on the grid of bfloat16, at steps that are wide enough."""
import torch
from torch import nn


def snap(net):
    with torch.no_grad():
        for weight in net.parameters():
            weight.copy_(weight.bfloat16())


torch.manual_seed(5)
centres = torch.randn(4, 12)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(40):
    genre = torch.randint(0, 4, (96,))
    song = centres[genre] + torch.randn(96, 12)
    loss = nn.functional.cross_entropy(net(song), genre)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    snap(net)
