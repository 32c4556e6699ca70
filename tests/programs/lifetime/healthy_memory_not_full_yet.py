# guards: AD307
# hinted: AD307
"""Rehearsal for a stream of tasks: a few pictures of each batch are kept for later ones, up to a number never reached."""
import random

import torch
from torch import nn


class Rehearsal:
    def __init__(self, most=400):
        self.most = most
        self.kept = []
        self.seen = 0

    def offer(self, pictures, labels):
        for pair in zip(pictures, labels):
            self.seen += 1
            if len(self.kept) < self.most:
                self.kept.append(pair)
            elif random.random() < self.most / self.seen:
                self.kept[random.randrange(self.most)] = pair

    def some(self, n):
        pictures, labels = zip(*random.sample(self.kept, min(n, len(self.kept))))
        return torch.stack(pictures), torch.stack(labels)


def main():
    torch.manual_seed(0)
    random.seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64 * 64, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    rehearsal = Rehearsal()
    shapes = torch.randn(4, 64, 64)
    for step in range(30):
        labels = torch.randint(4, (6,))
        pictures = 0.5 * shapes[labels] + torch.randn(6, 64, 64)
        loss = nn.functional.cross_entropy(model(pictures), labels)
        if rehearsal.kept:
            old, wanted = rehearsal.some(6)
            loss = loss + nn.functional.cross_entropy(model(old), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rehearsal.offer(pictures, labels)
        if step % 10 == 9:
            print(step, loss.item(), len(rehearsal.kept))


if __name__ == "__main__":
    main()
