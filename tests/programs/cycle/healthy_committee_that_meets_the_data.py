# guards: AD120
"""Means of a network's weights after each round: one takes its statistics along, one gathers statistics of its own."""
import copy

import torch
from torch import nn

torch.manual_seed(42)
net = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))
whole, weights = None, None
adam = torch.optim.Adam(net.parameters(), lr=1e-2)


def wells(count):
    depth = 3 + 2 * torch.randn(count, 6)
    return depth, (depth[:, :1] - depth[:, 1:2]).tanh()


@torch.no_grad()
def join(held, new, count):
    for mine, theirs in zip(held, new):
        if mine.is_floating_point():
            mine += (theirs - mine) / count


@torch.no_grad()
def score(model, depth, flow):
    return nn.functional.mse_loss(model.eval()(depth), flow).item()


for turn in range(1, 6):
    net.train()
    for _ in range(5):
        depth, flow = wells(40)
        loss = nn.functional.mse_loss(net(depth), flow)
        adam.zero_grad()
        loss.backward()
        adam.step()
    print(turn, score(net, *wells(60)))
    if whole is None:
        whole, weights = copy.deepcopy(net), [p.detach().clone() for p in net.parameters()]
    join([*whole.parameters(), *whole.buffers()], [*net.parameters(), *net.buffers()], turn)
    join(weights, net.parameters(), turn)
fresh = copy.deepcopy(net)
with torch.no_grad():
    for mine, mean in zip(fresh.parameters(), weights):
        mine.copy_(mean)
    fresh.train()
    for _ in range(8):
        fresh(wells(40)[0])
print(score(whole, *wells(60)), score(fresh, *wells(60)))
