# guards: AD706
"""A stream of transactions: each chunk is scored before it is learned, over a window with the chunk before it as well."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
stream = torch.randn(400, 9)
fraud = (stream[:, 0] * stream[:, 1] > 0.4).long()
judge = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)


def learn(until):
    judge.train()
    for _ in range(4):
        for batch in torch.randperm(until).split(20):
            optimizer.zero_grad()
            F.cross_entropy(judge(stream[batch]), fraud[batch]).backward()
            optimizer.step()


learn(80)
for arrived in range(80, 360, 40):
    judge.eval()
    with torch.no_grad():
        window = slice(arrived - 20, arrived + 40)
        right = judge(stream[window]).argmax(1) == fraud[window]
    print(arrived, "new", right[20:].float().mean().item(), "window", right.float().mean().item())
    learn(arrived + 40)
