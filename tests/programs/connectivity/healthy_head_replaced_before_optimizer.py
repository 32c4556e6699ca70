# guards: AD205
"""Transfer learning: the head is replaced, then the optimizer is built."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 48), nn.ReLU())
        self.classifier = nn.Linear(48, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def main():
    torch.manual_seed(0)
    model = Net(classes=10)
    for p in model.features.parameters():
        p.requires_grad = False
    model.classifier = nn.Linear(48, 3)
    optimizer = torch.optim.SGD(model.classifier.parameters(), lr=0.05, momentum=0.9)
    centers = torch.randn(3, 12)
    for it in range(40):
        y = torch.randint(0, 3, (32,))
        x = centers[y] + 0.7 * torch.randn(32, 12)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 10 == 0:
            print(it, loss.item())


if __name__ == "__main__":
    main()
