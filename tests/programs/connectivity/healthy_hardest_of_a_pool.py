# guards: AD211
"""Every third step looks for the hardest samples of a pool, in the mode in which they are trained on."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
centres = torch.randn(4, 10) * 1.5
kinds = torch.randint(0, 4, (480,))
points = centres[kinds] + torch.randn(480, 10)
held_out = torch.arange(400, 480)

classify = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 4))
sgd = torch.optim.SGD(classify.parameters(), lr=0.1, momentum=0.9)


def hardest(pool, count):
    with torch.no_grad():
        losses = F.cross_entropy(classify(points[pool]), kinds[pool], reduction="none")
    return pool[losses.topk(count).indices]


step = 0
for epoch in range(6):
    classify.train()
    for pool in torch.randperm(400).split(80):
        rows = hardest(pool, 24) if step % 3 == 2 else pool[:24]
        loss = F.cross_entropy(classify(points[rows]), kinds[rows])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        step += 1
    classify.eval()
    with torch.no_grad():
        right = (classify(points[held_out]).argmax(1) == kinds[held_out]).float().mean()
    print(epoch, loss.item(), right.item())
