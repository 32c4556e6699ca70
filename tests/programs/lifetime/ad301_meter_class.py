"""Meters as in many ImageNet scripts; this one remembers every loss tensor."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    """Keeps values and their average."""

    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.values = []

    def update(self, val):
        self.values.append(val)  # expect: AD301

    @property
    def avg(self):
        return sum(float(v) for v in self.values) / max(1, len(self.values))

    def __str__(self):
        return ("{name} {avg" + self.fmt + "}").format(name=self.name, avg=self.avg)


def accuracy(output, target):
    with torch.no_grad():
        return (output.argmax(1) == target).float().mean()


def train(loader, model, criterion, optimizer, losses, top1):
    model.train()
    for images, target in loader:
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss)
        top1.update(accuracy(output, target))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    centers = torch.randn(6, 32)
    labels = torch.randint(0, 6, (480,))
    dataset = TensorDataset(centers[labels] + torch.randn(480, 32), labels)
    loader = DataLoader(dataset, batch_size=48, shuffle=True)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 6))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
    losses, top1 = AverageMeter("Loss", ":.4e"), AverageMeter("Acc@1", ":6.2f")
    for epoch in range(3):
        train(loader, model, nn.CrossEntropyLoss(), optimizer, losses, top1)
        print(epoch, losses, top1)


if __name__ == "__main__":
    main()
