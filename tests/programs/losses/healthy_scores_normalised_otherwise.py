# guards: AD603
import torch
import torch.nn.functional as F
from torch import nn


def largest(scores):
    return scores.max(1).values.mean()


torch.manual_seed(6)
rates, sorter = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3)), nn.Linear(7, 4)
optimizer = torch.optim.Adam([*rates.parameters(), *sorter.parameters()], lr=1e-2)
sort_by = torch.randn(7, 4)
for _ in range(40):
    place = torch.randn(32, 5)
    wait = torch.distributions.Exponential(1 + place[:, 0].square()).sample()
    kind = torch.where(place[:, 1] > 0, 2, (place[:, 2] > 0).long())
    log_rate = rates(place)
    points = F.nll_loss(log_rate, kind) + (log_rate.exp().sum(1) * wait).mean()

    x = torch.randn(48, 7)
    scores = sorter(x)
    perceptron = largest(scores) + F.nll_loss(scores, (x @ sort_by).argmax(1))
    loss = points + perceptron
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
