"""A convolutional network reads seven-segment digits drawn with noise. Healthy: batch-norm, dropout, a schedule."""

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, Dataset

# Which of the seven segments are lit for each digit: top, top-left, top-right, middle, bottom-left, bottom-right, bottom
LIT = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]
BOXES = [(2, 4, 4, 11), (3, 7, 3, 5), (3, 7, 10, 12), (7, 9, 4, 11), (8, 13, 3, 5), (8, 13, 10, 12), (12, 14, 4, 11)]


class Digits(Dataset):
    """Every item is drawn anew from its own seed, so that training and test images never coincide."""

    def __init__(self, size: int, first_seed: int) -> None:
        self.size = size
        self.first_seed = first_seed

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(self.first_seed + index)
        digit = int(torch.randint(10, (), generator=generator))
        image = 0.5 * torch.randn(16, 16, generator=generator)
        for lit, (top, bottom, left, right) in zip(LIT[digit], BOXES):
            image[top:bottom, left:right] += float(lit)
        return image.unsqueeze(0), digit


def block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)
    )


def build_model() -> nn.Module:
    return nn.Sequential(block(1, 8), block(8, 16), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16 * 4 * 4, 10))


def main(epochs: int = 3) -> None:
    torch.manual_seed(0)
    train_loader = DataLoader(Digits(800, first_seed=0), batch_size=40, shuffle=True)
    test_loader = DataLoader(Digits(200, first_seed=10_000), batch_size=100)
    model = build_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = OneCycleLR(optimizer, max_lr=0.01, total_steps=epochs * len(train_loader))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(epochs):
        model.train()
        for images, digits in train_loader:
            optimizer.zero_grad()
            criterion(model(images), digits).backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.inference_mode():
            right = sum((model(images).argmax(1) == digits).sum().item() for images, digits in test_loader)
        print(f"epoch {epoch}: {right / 200:.0%} of the test digits read")


if __name__ == "__main__":
    main()
