"""A data set of sequences handed out as they are."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Melodies(Dataset):
    def __init__(self, count=24):
        self.notes = [torch.randn(torch.randint(8, 14, ()).item(), 4) for _ in range(count)]
        self.moods = [torch.randint(0, 3, ()) for _ in range(count)]

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, index):
        return self.notes[index], self.moods[index]


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 16)
        self.out = nn.Linear(16, 3)

    def forward(self, notes):
        return self.out(self.gru(notes)[1][-1])


listener = Listener()
optimizer = torch.optim.Adam(listener.parameters(), lr=1e-3)
data = DataLoader(Melodies(), batch_size=None, shuffle=True)
for epoch in range(5):
    for notes, mood in data:
        notes.mul_(0.8 + 0.4 * torch.rand(1))  # expect: AD712
        loss = nn.functional.cross_entropy(listener(notes), mood)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
