"""An image classifier in the style of the examples; the schedule advances before the optimizer does."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, padding=1)
        self.fc1 = nn.Linear(12 * 3 * 3, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.log_softmax(self.fc2(x), dim=1)


def quadrants(n):
    """12x12 images, brighter in one of the four quadrants."""
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 12, 12) * 0.7
    for i, q in enumerate(y.tolist()):
        r, c = divmod(q, 2)
        x[i, 0, 6 * r : 6 * r + 6, 6 * c : 6 * c + 6] += 0.8
    return TensorDataset(x, y)


def main():
    torch.manual_seed(5)
    epochs = 3
    train_loader = DataLoader(quadrants(320), batch_size=32, shuffle=True)
    model = LeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs * len(train_loader))
    for epoch in range(epochs):
        for data, target in train_loader:
            scheduler.step()  # expect: AD108
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f} lr {scheduler.get_last_lr()[0]:.4f}")


if __name__ == "__main__":
    main()
