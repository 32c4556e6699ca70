# guards: AD119
# hinted: AD119
"""A run at an even rate is written to a file in the middle, and a branch of it is cooled down to nothing."""

import io

import torch
from torch import nn

torch.manual_seed(4)


class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 24)
        self.memory = nn.GRU(24, 32, batch_first=True)
        self.letters = nn.Linear(32, 20)

    def forward(self, words):
        return self.letters(self.memory(self.table(words))[0])


def sample(count):
    starts = torch.randint(0, 20, (count, 1))
    return (starts + torch.arange(7) * torch.randint(1, 3, (count, 1))) % 20


class Run:
    def __init__(self, shape):
        self.net = Speller()
        self.adam = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.shape = shape
        self.plan = None

    def go(self, steps):
        self.plan = self.plan or torch.optim.lr_scheduler.LambdaLR(self.adam, self.shape)
        for _ in range(steps):
            words = sample(24)
            loss = nn.functional.cross_entropy(self.net(words[:, :-1]).transpose(1, 2), words[:, 1:])
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            self.plan.step()


trunk = Run(lambda step: min(1.0, (1 + step) / 4))
trunk.go(12)
kept = io.BytesIO()
torch.save({"net": trunk.net.state_dict(), "adam": trunk.adam.state_dict(), "plan": trunk.plan.state_dict()}, kept)
kept.seek(0)
found = torch.load(kept)
branch = Run(lambda step: 1 - step / 12)
branch.net.load_state_dict(found["net"])
branch.adam.load_state_dict(found["adam"])
branch.go(12)
