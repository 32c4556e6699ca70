"""A language model over passages of a book, whose gradients of three passages make one update. The cosine is planned in
updates, and moved on with each passage: the rate is spent after a third of the book."""

import math

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, letters=24, width=20):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.memory = nn.GRU(width, width, batch_first=True)
        self.next_letter = nn.Linear(width, letters)

    def forward(self, text):
        return self.next_letter(self.memory(self.letters(text))[0])


def write_book(passages, length, letters, generator):
    steps = torch.randint(1, 4, (passages, 1), generator=generator)
    return (torch.arange(length) * steps + torch.arange(passages)[:, None]) % letters


class Training:
    passages_per_update = 3

    def __init__(self, book):
        self.book = book
        self.reader = Reader()
        self.descent = torch.optim.Adam(self.reader.parameters(), lr=5e-3)
        updates = len(book) // self.passages_per_update
        self.pace = torch.optim.lr_scheduler.LambdaLR(
            self.descent, lambda done: 0.5 * (1 + math.cos(math.pi * min(1.0, done / updates)))
        )

    def take_in(self, passage):
        scores = self.reader(passage[:, :-1])
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), passage[:, 1:]) / self.passages_per_update
        loss.backward()
        return loss.item() * self.passages_per_update

    def run(self):
        read = 0
        for passage in self.book.split(1):
            self.take_in(passage)
            read += 1
            if not read % self.passages_per_update:
                self.descent.step()
                self.descent.zero_grad()
            self.pace.step()  # expect: AD115


torch.manual_seed(4)
Training(write_book(300, 12, 24, torch.Generator().manual_seed(4))).run()
