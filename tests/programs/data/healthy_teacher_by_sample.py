# guards: AD708
"""What a teacher said of each phrase is kept, and taken by the number of the phrase."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Phrases(Dataset):
    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.words = torch.randint(1, 40, (400, 6), generator=generator)
        self.moods = (self.words < 14).sum(1).clamp(max=3)

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> tuple[int, torch.Tensor, torch.Tensor]:
        return index, self.words[index], self.moods[index]


class Mood(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words, self.mood = nn.EmbeddingBag(40, width, mode="sum"), nn.Linear(width, 4)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.mood(self.words(words))


torch.manual_seed(0)
phrases, teacher, student = Phrases(), Mood(32), Mood(8)
optimizer = torch.optim.Adam(teacher.parameters(), lr=0.02)
for _, words, moods in DataLoader(phrases, batch_size=20, shuffle=True):
    optimizer.zero_grad()
    F.cross_entropy(teacher(words), moods).backward()
    optimizer.step()
with torch.no_grad():
    said = torch.cat([teacher(words) for _, words, _ in DataLoader(phrases, batch_size=80)])
optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
for epoch in range(3):
    for numbers, words, moods in DataLoader(phrases, batch_size=20, shuffle=True):
        scores = student(words)
        told = F.kl_div(scores.log_softmax(1), said[numbers].softmax(1), reduction="batchmean")
        optimizer.zero_grad()
        (told + F.cross_entropy(scores, moods)).backward()
        optimizer.step()
