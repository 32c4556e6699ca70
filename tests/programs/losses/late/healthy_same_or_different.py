# guards: AD638
"""Pairs of signatures by the same hand or not; labels say which are drawn together and which are kept apart."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(4)
hands = torch.randn(8, 20)


def signature(who):
    return hands[who] + 0.3 * torch.randn(len(who), 20)


def network():
    return nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 8))


def by_margin(net, one, other, same):
    distance = F.pairwise_distance(net(one), net(other))
    return (same * distance**2 + (1 - same) * (1 - distance).clamp(min=0) ** 2).mean()


def by_sign(net, one, other, same):
    return F.cosine_embedding_loss(net(one), net(other), 2 * same - 1)


def by_weight(net, one, other, same):
    """A distance that is weighed with 1 or -1, of outputs that are kept in a ball."""
    return ((2 * same - 1) * (net(one).tanh() - net(other).tanh()).square().sum(1)).mean()


def by_anchor(net, one, other, same):
    anchor = F.normalize(net(one), dim=1)
    near = F.normalize(net(one + 0.1 * torch.randn_like(one)), dim=1)
    far = F.normalize(net(one.roll(1, 0)), dim=1)
    return ((anchor * far).sum(1) - (anchor * near).sum(1)).mean()


for objective in (by_margin, by_sign, by_weight, by_anchor):
    net = network()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(50):
        first, second = torch.randint(8, (64,)), torch.randint(8, (64,))
        second = torch.where(torch.rand(64) < 0.5, first, second)
        loss = objective(net, signature(first), signature(second), (first == second).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
