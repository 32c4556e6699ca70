# guards: AD620
"""Distances against distances, each held by something: unit length, a norm that is put back, a penalty, a margin."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(12)
kinds = torch.randn(6, 10)
unit, margin, penalised, drawn = (nn.Linear(10, 4) for _ in range(4))
facts, towards = nn.Embedding(20, 4), nn.Parameter(0.1 * torch.randn(4))
anchors = torch.randn(6, 4)
anchored = nn.Linear(10, 4)
parts = [list(each.parameters()) for each in (unit, margin, penalised, drawn, anchored)]
parts.append([*facts.parameters(), towards])
opts = [torch.optim.SGD(part, lr=0.02) for part in parts]


def gap(left, right):
    return (left - right).norm(dim=-1).mean()


for step in range(60):
    who = torch.randint(0, 6, (32,))
    whom = (who + torch.randint(1, 6, (32,))) % 6
    a, p, n = (kinds[each] + 0.5 * torch.randn(32, 10) for each in (who, who, whom))
    for opt in opts:
        opt.zero_grad()

    one, same, other = (F.normalize(unit(each), dim=1) for each in (a, p, n))
    (gap(one, same) - gap(one, other) + 0.2).backward()

    near, far = ((margin(a) - margin(each)).norm(dim=1) for each in (p, n))
    (near - far + 1).clamp_min(0).mean().backward()

    sizes = torch.cat([penalised(a), penalised(p), penalised(n)]).square().mean()
    (gap(penalised(a), penalised(p)) - gap(penalised(a), penalised(n)) + sizes).backward()

    cloud, again = drawn(torch.randn(32, 10)), drawn(torch.randn(32, 10))
    (2 * gap(cloud, p[:, :4]) - gap(cloud, again)).backward()

    place = anchored(a)
    (gap(place, anchors[who]) - gap(place, anchors[whom])).backward()

    head = torch.randint(0, 20, (32,))
    moved = facts(head) + towards
    (gap(moved, facts((head + 1) % 20)) - gap(moved, facts(torch.randint(0, 20, (32,))))).backward()

    for opt in opts:
        opt.step()
    with torch.no_grad():
        facts.weight.div_(facts.weight.norm(dim=1, keepdim=True))
