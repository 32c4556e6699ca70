# guards: AD210
"""Fine-tuned for larger images after training on small ones, with the normalisation as it will be in use."""

import torch
import torch.nn.functional as F
from torch import nn


class Shapes(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Linear(32, 2)

    def forward(self, image):
        return self.head(self.body(image).flatten(1))


def images(count, size):
    label = torch.randint(0, 2, (count,))
    image = 0.3 * torch.randn(count, 1, size, size)
    image[label == 0, :, : size // 2] += 1.0
    image[label == 1, :, :, : size // 2] += 1.0
    return image, label


def fit(model, optimizer, size, steps):
    for _ in range(steps):
        image, label = images(24, size)
        loss = F.cross_entropy(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = Shapes()
print("small", fit(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), 12, 16))
model.eval()
print("large", fit(model, torch.optim.SGD(model.parameters(), lr=0.01), 20, 10))
