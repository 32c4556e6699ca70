"""Spectrograms with noise added by a transform object; a subset is trained on."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class AddNoise:
    def __init__(self, level):
        self.level = level

    def __call__(self, frame):
        frame += self.level * np.random.randn(*frame.shape).astype(frame.dtype)  # expect: AD712
        return frame


class Spectrograms(Dataset):
    def __init__(self, transform=None):
        generator = np.random.default_rng(3)
        self.data = generator.normal(size=(90, 4, 6)).astype("float32")
        self.label = generator.integers(0, 2, 90)
        self.transform = transform

    def __len__(self):
        return len(self.label)

    def __getitem__(self, idx):
        frame = self.data[idx]
        if self.transform is not None:
            frame = self.transform(frame)
        return torch.as_tensor(frame)[None], int(self.label[idx])


torch.manual_seed(0)
np.random.seed(0)
train, held_out = random_split(Spectrograms(AddNoise(0.2)), [72, 18])
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(5):
    for frames, labels in DataLoader(train, batch_size=12, shuffle=True):
        loss = nn.functional.cross_entropy(model(frames), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
