"""Pictures with patches cut out, but for the last epochs; the transform belongs to the data set below two splits."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class CutOut:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        row, column = torch.randint(0, 8 - self.size, (2,)).tolist()
        image = image.clone()
        image[:, row:row + self.size, column:column + self.size] = 0
        return image


class Digits(Dataset):
    def __init__(self, transform):
        generator = torch.Generator().manual_seed(1)
        self.labels = torch.randint(0, 3, (96,), generator=generator)
        self.images = torch.randn(96, 1, 8, 8, generator=generator) + self.labels.view(-1, 1, 1, 1)
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        return self.transform(image) if self.transform else image, self.labels[i]


class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs
        self.train, _ = random_split(Digits(CutOut(4)), [80, 16])
        self.loader = DataLoader(self.train, batch_size=16, shuffle=True, num_workers=1, persistent_workers=True)
        self.model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02)

    def run(self):
        for epoch in range(self.epochs):
            if epoch == self.epochs - 2:
                self.train.dataset.transform = None  # expect: AD727
            for images, labels in self.loader:
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(images), labels).backward()
                self.optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(4).run()
