"""Who wrote a page: strokes of one scribe are to lie close to each other, those of two scribes far apart."""
import torch
from torch import nn

torch.manual_seed(9)
habits = torch.randn(7, 15)
to_place = nn.Sequential(nn.Linear(15, 32), nn.LeakyReLU(), nn.Linear(32, 6))
opt = torch.optim.SGD(to_place.parameters(), lr=2e-3, momentum=0.9)


def strokes(who):
    return habits[who] + 0.8 * torch.randn(len(who), 15)


def triplet(page, same, other):
    apart = ((page - other) ** 2).sum(-1).mean()
    together = ((page - same) ** 2).sum(-1).mean()
    return together - apart  # <- AD620


for step in range(30):
    who = torch.randint(0, 7, (40,))
    whom = (who + torch.randint(1, 7, (40,))) % 7
    page, same, other = (to_place(strokes(each)) for each in (who, who, whom))
    loss = triplet(page, same, other)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
