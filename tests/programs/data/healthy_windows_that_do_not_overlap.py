# guards: AD706
"""Beats of a heart, each in a window of its own, split at random; and what the net says of those it has learned."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
kind = torch.randint(2, (240,))
beats = torch.randn(240, 30, 2) * 0.5 + torch.sin(torch.linspace(0, 6, 30))[:, None] * (1.0 + kind)[:, None, None]
signal = beats.reshape(-1, 2)
data = TensorDataset(signal.unfold(0, 30, 30).transpose(1, 2), kind)
learned, unseen = random_split(data, [180, 60])
batches = DataLoader(learned, batch_size=30, shuffle=True)


class Heart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv1d(2, 8, 5), nn.Linear(8, 2)

    def forward(self, beat: torch.Tensor) -> torch.Tensor:
        return self.head(self.conv(beat.transpose(1, 2)).relu().mean(2))


heart = Heart()
optimizer = torch.optim.Adam(heart.parameters(), lr=1e-2)
for epoch in range(5):
    heart.train()
    for beat, wanted in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(heart(beat), wanted).backward()
        optimizer.step()
    heart.eval()
    with torch.no_grad():
        for name, part in (("learned", learned), ("unseen", unseen)):
            right = [(heart(beat).argmax(1) == wanted).float().mean() for beat, wanted in DataLoader(part, 60)]
            print(epoch, name, float(sum(right)) / len(right))
