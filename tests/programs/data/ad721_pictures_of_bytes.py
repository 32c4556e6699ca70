"""A data set that divides pictures by 255, and a check that takes them as they are stored."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Glyphs(Dataset):
    def __init__(self, count, seed):
        draw = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(4, (count,), generator=draw)
        self.pixels = torch.randint(60, (count, 12, 12), generator=draw, dtype=torch.uint8)
        for picture, label in zip(self.pixels, self.labels.tolist()):
            picture[3 * label : 3 * label + 3] += 180

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pixels[index].float().div(255).unsqueeze(0), self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(8 * 36, 4)

    def forward(self, pictures):
        return self.head(self.body(pictures).flatten(1))


torch.manual_seed(9)
train, test = Glyphs(144, 1), Glyphs(48, 2)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(3):
    net.train()
    for pictures, labels in DataLoader(train, batch_size=16, shuffle=True):
        loss = nn.functional.cross_entropy(net(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.inference_mode():
        right = net(test.pixels[:, None].float()).argmax(1) == test.labels  # <- AD721
    print(epoch, f"{loss.item():.3f}", f"{right.float().mean():.2f}")
