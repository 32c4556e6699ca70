"""Speaker verification; pairs of utterances are labelled 1 for one speaker and 0 for two, as the evaluation wants it."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count, speakers=8, features=20):
        generator = torch.Generator().manual_seed(count)
        self.voices = torch.randn(speakers, features, generator=generator)
        self.left = torch.randint(0, speakers, (count,), generator=generator)
        same = torch.rand(count, generator=generator) < 0.5
        other = torch.randint(0, speakers, (count,), generator=generator)
        self.right = torch.where(same, self.left, other)
        self.noise = 0.3 * torch.randn(count, 2, features, generator=generator)

    def __len__(self):
        return len(self.left)

    def __getitem__(self, index):
        left = self.voices[self.left[index]] + self.noise[index, 0]
        right = self.voices[self.right[index]] + self.noise[index, 1]
        return left, right, float(self.left[index] == self.right[index])


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 8))

    def forward(self, utterance):
        return nn.functional.normalize(self.layers(utterance), dim=1)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Pairs(160), batch_size=24, shuffle=True)
    embedder = Embedder()
    optimizer = torch.optim.Adam(embedder.parameters(), lr=3e-3)
    criterion = nn.HingeEmbeddingLoss(margin=1.0)
    for _ in range(3):
        for left, right, same in loader:
            distance = nn.functional.pairwise_distance(embedder(left), embedder(right))
            loss = criterion(distance, same)  # <- AD637
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(loss.item())


main()
