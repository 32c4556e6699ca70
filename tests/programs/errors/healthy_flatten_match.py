# guards: AD512
"""A CNN whose classifier fits its image size."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class AlexNetish(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.classifier = nn.Linear(16 * 5 * 5, num_classes)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


def colours(n):
    y = torch.randint(0, 3, (n,))
    x = 0.6 * torch.randn(n, 3, 20, 20)
    x[torch.arange(n), y] += 0.5
    return x, y


if __name__ == "__main__":
    torch.manual_seed(0)
    net = AlexNetish()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(20):
        x, y = colours(24)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(step, loss.item())
