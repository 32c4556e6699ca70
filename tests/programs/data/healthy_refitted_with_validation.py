# guards: AD706
"""Once the number of steps is chosen by validation nodes, training goes on with these, too, and test nodes are scored.

The temperature of the scores is fitted to validation nodes before that.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
n = 200
kind = torch.randint(4, (n,))
x = F.one_hot(kind, 4).float() @ torch.randn(4, 10) + torch.randn(n, 10)
near = F.one_hot(torch.cdist(x, x).topk(5, largest=False).indices, n).sum(1).float() / 5
order = torch.randperm(n)
train, val, test = order.split([80, 40, 80])
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def learn(rows):
    model.train()
    loss = F.cross_entropy(model(near @ x)[rows], kind[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def score(rows):
    model.eval()
    return (model(near @ x)[rows].argmax(1) == kind[rows]).float().mean().item()


for epoch in range(15):
    learn(train)
    print(epoch, score(val))
temperature = nn.Parameter(torch.ones(()))
warm = torch.optim.LBFGS([temperature], max_iter=4)
with torch.no_grad():
    scores = model(near @ x)


def closure():
    warm.zero_grad()
    loss = F.cross_entropy(scores[val] / temperature, kind[val])
    loss.backward()
    return loss


warm.step(closure)
with torch.no_grad():
    print("calibrated:", F.cross_entropy(scores[val] / temperature, kind[val]).item())
for _ in range(10):
    learn(torch.cat([train, val]))
print(score(val), score(test))
