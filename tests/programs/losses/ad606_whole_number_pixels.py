"""A classifier of small grey pictures, scaled to the unit interval first."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count=160):
        generator = torch.Generator().manual_seed(3)
        self.labels = torch.randint(0, 3, (count,), generator=generator)
        noise = torch.randint(0, 60, (count, 1, 8, 8), generator=generator)
        self.pictures = (noise + 60 * self.labels.view(-1, 1, 1, 1)).to(torch.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pictures[index], self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.classify = nn.Linear(24, 3)

    def forward(self, pictures):
        scaled = (pictures // 255).float()  # expect: AD606
        return self.classify(self.features(scaled))


def run():
    torch.manual_seed(0)
    net, loader = Net(), DataLoader(Pictures(), batch_size=20, shuffle=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        right = 0
        for pictures, labels in loader:
            scores = net(pictures)
            loss = nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (scores.argmax(1) == labels).sum().item()
        print(epoch, right)


run()
