# guards: AD627
"""Frames of clips, two of each beside one another in a batch, and what a commentator said: one net reads both."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(13)
SCENES = torch.randn(300, 16)
SPEECH = torch.linalg.qr(torch.randn(16, 16))[0]


def batch(clips=20):
    scene = SCENES[torch.randint(0, 300, (clips,))].repeat_interleave(2, dim=0)
    moment = scene + 0.4 * torch.randn_like(scene)
    return moment, moment @ SPEECH + 0.1 * torch.randn_like(moment)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, 64), nn.GELU(), nn.Linear(64, 24))

    def forward(self, rows, kind):
        return self.net(torch.cat([rows, F.one_hot(kind, 2).float()], dim=1))


def contrast(first, second):
    scores = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T * 8
    own = torch.arange(len(scores))
    return F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)


reader = Reader()
adam = torch.optim.Adam(reader.parameters(), lr=4e-3)
for step in range(60):
    frames, words = batch()
    kind = torch.arange(2).repeat_interleave(len(frames))
    seen, said = reader(torch.cat([frames, words]), kind).chunk(2)
    loss = contrast(seen, said)
    # the other way round: moment by moment, of what is seen alone
    twice = torch.stack([frames, frames + 0.1 * torch.randn_like(frames)], dim=1).flatten(0, 1)
    z = reader(twice, torch.zeros(len(twice), dtype=torch.long))
    loss = loss + contrast(z[::2], z[1::2])
    adam.zero_grad()
    loss.backward()
    adam.step()
    if step % 20 == 0:
        print(step, loss.item())
