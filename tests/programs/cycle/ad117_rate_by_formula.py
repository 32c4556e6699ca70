"""A class with a rate that falls with the epoch, set by hand in the groups of two parts of a model."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 12)
        self.read = nn.GRU(12, 16, batch_first=True)
        self.tags = nn.Linear(16, 4)

    def forward(self, tokens):
        return self.tags(self.read(self.embed(tokens))[0])


class Run:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Tagger()
        self.optim = torch.optim.AdamW(
            [
                {"params": self.model.embed.parameters(), "lr": 2e-3},
                {"params": self.model.read.parameters()},
                {"params": self.model.tags.parameters()},
            ],
            lr=4e-3,
        )
        self.start = [group["lr"] for group in self.optim.param_groups]

    def adjust(self, epoch):
        for group, first in zip(self.optim.param_groups, self.start):
            group["lr"] = first * (1 - 0.3 * epoch)

    def epoch(self, batches):
        for tokens in batches:
            logits = self.model(tokens)
            loss = nn.functional.cross_entropy(logits.transpose(1, 2), tokens % 4)
            self.optim.zero_grad(set_to_none=True)
            loss.backward()
            self.optim.step()  # <- AD117
        return loss.item()


run = Run()
for epoch in range(6):
    run.adjust(epoch)
    print(epoch, run.epoch([torch.randint(0, 20, (16, 9)) for _ in range(4)]))
