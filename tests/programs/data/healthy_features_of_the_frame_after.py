# guards: AD728
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self):
        self.frames = torch.randn(161, 3, 8, 8).cumsum(0) / 10

    def __len__(self):
        return 160

    def __getitem__(self, number):
        return number, self.frames[number]


torch.manual_seed(0)
frames = Frames()
frozen = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.Flatten()).requires_grad_(False)
ahead = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 36))
features = torch.zeros(160, 36)
for numbers, frame in DataLoader(frames, batch_size=20, shuffle=True):
    features[numbers] = frozen(frame)

optimizer = torch.optim.Adam(ahead.parameters(), lr=0.01)
for _ in range(5):
    for numbers, frame in DataLoader(frames, batch_size=20, shuffle=True):
        after = features[(numbers + 1).clamp(max=159)]
        loss = nn.functional.mse_loss(ahead(frame), after)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
