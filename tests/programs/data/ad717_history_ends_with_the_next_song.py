"""Playlists of which the next song is guessed; the history is sliced one place too far and holds it already."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SONGS, LONG = 40, 8


class Playlists(Dataset):
    def __init__(self, lists):
        self.pairs = [(songs, at) for songs in lists for at in range(LONG, len(songs))]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        songs, at = self.pairs[index]
        return songs[at - LONG + 1 : at + 1], songs[at]


class NextSong(nn.Module):
    def __init__(self):
        super().__init__()
        self.songs = nn.Embedding(SONGS, 16)
        self.heard = nn.GRU(16, 24, batch_first=True)
        self.scores = nn.Linear(24, SONGS)

    def forward(self, history):
        _, last = self.heard(self.songs(history))
        return self.scores(last[0])


torch.manual_seed(0)
lists = [(torch.randint(0, SONGS, (1,)) + torch.randint(1, 6, (24,)).cumsum(0)) % SONGS for _ in range(12)]
loader = DataLoader(Playlists(lists), batch_size=48, shuffle=True)
model = NextSong()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    for history, following in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(history), following).backward()  # expect: AD717
        optimizer.step()
