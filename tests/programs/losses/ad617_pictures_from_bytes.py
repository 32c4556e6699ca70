"""Pictures are kept as bytes, rows first and colours last, as cameras deliver them; a data set hands them out."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Camera(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 3, n)
        self.frames = rng.integers(0, 90, (n, 10, 14, 3), dtype=np.uint8)
        for frame, label in zip(self.frames, self.labels):
            row, column = rng.integers(0, 6), rng.integers(0, 10)
            frame[row : row + 4, column : column + 4, label] += 120

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        frame = torch.from_numpy(self.frames[i]).reshape(3, 10, 14)  # expect: AD617
        return frame.float() / 255, int(self.labels[i])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 12, 3), nn.ReLU()
        )
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.body(x).amax((2, 3)))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(3):
    for frames, labels in DataLoader(Camera(160, 0), batch_size=16, shuffle=True):
        loss = nn.functional.cross_entropy(net(frames), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
