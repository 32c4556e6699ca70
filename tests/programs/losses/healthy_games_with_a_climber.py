# guards: AD609 AD620
"""Games in which one side climbs: a judge on the value of the game, two heads that are to disagree on new data, and
noise that is to spoil what a net says."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)
maker, judge = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
of_maker = torch.optim.Adam(maker.parameters(), lr=2e-3)
of_judge = torch.optim.Adam(judge.parameters(), lr=2e-3, maximize=True)

features, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 2), nn.Linear(8, 2)])
of_features = torch.optim.Adam(features.parameters(), lr=5e-3)
of_heads = torch.optim.Adam(heads.parameters(), lr=5e-3)

spoiler, plain = nn.Linear(4, 4), nn.Linear(4, 1)
of_spoiler = torch.optim.SGD(spoiler.parameters(), lr=0.02, maximize=True)
of_plain = torch.optim.SGD(plain.parameters(), lr=0.02)


def gap(h):
    return (heads[0](h) - heads[1](h)).abs().mean()


for step in range(30):
    real = torch.randn(32, 4) + 1
    of_judge.zero_grad()
    value = F.logsigmoid(judge(real)).mean() + F.logsigmoid(-judge(maker(torch.randn(32, 3)).detach())).mean()
    value.backward()
    of_judge.step()
    of_maker.zero_grad()
    F.softplus(-judge(maker(torch.randn(32, 3)))).mean().backward()
    of_maker.step()

    known, new = torch.randn(32, 4), torch.randn(32, 4) + 0.5
    labels = (known.sum(1) > 0).long()
    of_heads.zero_grad()
    sum(F.cross_entropy(head(features(known).detach()), labels) for head in heads).backward()
    (-gap(features(new).detach())).backward()
    of_heads.step()
    of_features.zero_grad()
    (sum(F.cross_entropy(head(features(known)), labels) for head in heads) + gap(features(new))).backward()
    of_features.step()

    wanted = real[:, :1] - real[:, 1:2]
    of_spoiler.zero_grad()
    F.mse_loss(plain(real + 0.3 * spoiler(real).tanh()), wanted).backward()
    of_spoiler.step()
    of_plain.zero_grad()
    F.mse_loss(plain(real + 0.3 * spoiler(real).tanh().detach()), wanted).backward()
    of_plain.step()
