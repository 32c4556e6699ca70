"""A sampler that hands out as many samples of the one class as of the other."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

torch.manual_seed(17)


class Letters(Dataset):
    def __init__(self):
        self.vowel = torch.arange(300) % 3 == 0
        self.curves = torch.randn(300, 10) + self.vowel.float().unsqueeze(1)

    def __len__(self):
        return 300

    def __getitem__(self, number):
        return self.curves[number], self.vowel[number].float()


class Balanced(Sampler):
    def __init__(self, letters):
        self.vowels = letters.vowel.nonzero().flatten()
        self.others = (~letters.vowel).nonzero().flatten()

    def __len__(self):
        return 2 * len(self.vowels)

    def __iter__(self):
        order = torch.randperm(len(self.vowels))  # expect: AD711
        pairs = torch.stack([self.vowels[order], self.others[order]], dim=1)
        return iter(pairs.flatten().tolist())


letters = Letters()
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loader = DataLoader(letters, batch_size=20, sampler=Balanced(letters))
for epoch in range(4):
    for curves, vowel in loader:
        loss = nn.functional.binary_cross_entropy_with_logits(model(curves).squeeze(1), vowel)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
