"""Pictures of three shapes, listed folder by folder, as a `Dataset` that keeps paths and labels would."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ("bar", "cross", "dot")


class Folder(Dataset):
    def __init__(self, per_class=50):
        self.samples = [(name, number) for name in CLASSES for number in range(per_class)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        name, number = self.samples[index]
        image = 0.1 * torch.randn(1, 9, 9, generator=torch.Generator().manual_seed(number))
        if name != "dot":
            image[:, 4] += 1.0
        if name != "bar":
            image[:, :, 4] += 1.0
        return image, CLASSES.index(name)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(294, 3))
    train_loader = DataLoader(Folder(), batch_size=10, num_workers=0)  # expect: AD702
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(2):
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()


main()
