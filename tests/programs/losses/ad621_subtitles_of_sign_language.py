"""Sign language to subtitles: poses of a signer go in, words come out; a clip travels as one record."""
from typing import NamedTuple

import torch
from torch import nn


class Clip(NamedTuple):
    poses: torch.Tensor
    heard_so_far: torch.Tensor
    subtitle: torch.Tensor


class Interpreter(nn.Module):
    def __init__(self, words, width=32):
        super().__init__()
        self.look = nn.LSTM(6, width, batch_first=True)
        self.word = nn.Embedding(words, width)
        self.speak = nn.LSTM(width, width, batch_first=True)
        self.choose = nn.Linear(width, words)

    def forward(self, clip):
        _, memory = self.look(clip.poses)
        spoken, _ = self.speak(self.word(clip.heard_so_far), memory)
        return torch.log_softmax(self.choose(spoken), dim=-1)


def film(rng, vocabulary, clips=24, words=7):
    said = torch.randint(1, len(vocabulary), (clips, words), generator=rng)
    poses = vocabulary[said] + 0.1 * torch.randn(clips, words, 6, generator=rng)
    subtitle = said.flip(1)
    return Clip(poses=poses, heard_so_far=subtitle, subtitle=subtitle)


rng = torch.Generator().manual_seed(8)
torch.manual_seed(8)
vocabulary = torch.randn(20, 6, generator=rng)
net = Interpreter(len(vocabulary))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(40):
    clip = film(rng, vocabulary)
    told = net(clip)  # <- AD621
    loss = -torch.gather(told, -1, clip.subtitle[..., None]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
