# guards: AD211
"""Meta-learning of small tasks: adapted weights are scored on further samples with the statistics of these."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))
meta = torch.optim.Adam(net.parameters(), 5e-3)


def task():
    direction = torch.randn(4)
    x = torch.randn(30, 4)
    return x[:12], (x[:12] @ direction > 0).long(), x[12:], (x[12:] @ direction > 0).long()


def adapted(x, y, create_graph):
    weights = dict(net.named_parameters())
    loss = F.cross_entropy(functional_call(net, weights, (x,)), y)
    slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=create_graph)
    return {name: weight - 0.3 * slope for (name, weight), slope in zip(weights.items(), slopes)}


for turn in range(24):
    total = 0.0
    for _ in range(3):
        near, near_labels, far, far_labels = task()
        fast = adapted(near, near_labels, True)
        total = total + F.cross_entropy(functional_call(net, fast, (far,)), far_labels)
    meta.zero_grad()
    (total / 3).backward()
    meta.step()
    if turn % 8 == 7:
        near, near_labels, far, far_labels = task()
        fast = adapted(near, near_labels, False)
        with torch.no_grad():
            hits = functional_call(net, fast, (far,)).argmax(1) == far_labels
        print(turn, hits.float().mean().item())
