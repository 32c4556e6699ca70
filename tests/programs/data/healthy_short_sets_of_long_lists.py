# guards: AD711
"""Sets that are shorter than some of the lists they hold: a part that is in use, and as many clips as there are films."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Part(Dataset):
    """Grows from round to round; what is not in use yet waits behind."""

    def __init__(self, items, count):
        self.items, self.names = items, [f"item-{at}" for at in range(count)]
        self.used = items[:count]

    def __len__(self):
        return len(self.used)

    def __getitem__(self, index):
        x, wanted = self.items[index]
        return x.clone(), torch.tensor([wanted])


class Films(Dataset):
    """One of its clips for each film, drawn anew each time."""

    def __init__(self, films):
        self.films = films
        self.clips = [(film, start) for film in range(len(films)) for start in range(0, 24, 4)]
        self.per_film = len(self.clips) // len(films)

    def __len__(self):
        return len(self.films)

    def __getitem__(self, index):
        film, start = self.clips[index * self.per_film + random.randrange(self.per_film)]
        piece = self.films[film][start : start + 5].clone()
        return piece, piece.sum(0, keepdim=True)


def learn(dataset, rounds):
    net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(rounds):
        for x, wanted in DataLoader(dataset, batch_size=16, shuffle=True):
            loss = nn.functional.mse_loss(net(x), wanted)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


if __name__ == "__main__":
    random.seed(1)
    torch.manual_seed(1)
    rows = torch.randn(240, 5)
    print(learn(Part([(row, float(row[0] - row[1])) for row in rows], 64), 3))
    print(learn(Films(list(torch.randn(48, 32))), 4))
