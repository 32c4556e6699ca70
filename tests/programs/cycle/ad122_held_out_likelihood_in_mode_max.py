"""The schedule is told to wait for a maximum of what is the cross-entropy of held-out words, batch by batch."""

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(0)
WORDS = 15


def sentences(count):
    start = torch.randint(0, WORDS, (count, 1))
    return (start + 3 * torch.arange(9)) % WORDS


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 12)
        self.reader = nn.GRU(12, 24, batch_first=True)
        self.out = nn.Linear(24, WORDS)

    def forward(self, words):
        return self.out(self.reader(self.words(words))[0])


class Experiment:
    def __init__(self):
        self.model, self.criterion = Tagger(), nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-4)
        self.plateau = ReduceLROnPlateau(self.optimizer, "max", factor=0.5, patience=1)

    def loss(self, batch):
        return self.criterion(self.model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    def train(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            self.loss(batch).backward()
            self.optimizer.step()

    @torch.inference_mode()
    def validate(self, batches):
        losses = [self.loss(batch).item() for batch in batches]
        return sum(losses) / len(losses)


experiment = Experiment()
train, held_out = sentences(96).split(32), sentences(40).split(16)
for _ in range(9):
    experiment.train(train)
    experiment.plateau.step(experiment.validate(held_out))  # expect: AD122
