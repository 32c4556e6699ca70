# guards: AD122
"""The area under a curve falls while labels that are noise are learned: the schedule in mode max is right to act."""

import torch
from torch import nn

torch.manual_seed(1)
x, held_out = torch.randn(64, 10), torch.randn(200, 10)
truth = held_out[:, 0] > 0
labels = torch.where(torch.rand(64) < 0.45, x[:, 0] < 0, x[:, 0] > 0).float()
net = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 1), nn.Flatten(0))
with torch.no_grad():
    net[0].weight[:, 0] += 1.0
    net[2].weight.copy_(0.05 * net[0].weight[:, 0].sign())

optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=1)
for _ in range(9):
    net.train()
    for rows in torch.randperm(64).split(20):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(x[rows]), labels[rows]).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        scores = net(held_out)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, truth.float())
        area = (scores[truth][:, None] > scores[~truth]).double().mean()
    plateau.step(area)
    print(loss.item(), area.item(), optimizer.param_groups[0]["lr"])
