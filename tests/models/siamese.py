import torch
from torch import nn


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4)
        )
        self.fc = nn.Sequential(nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 16))
        self.out = nn.Linear(16, 1)

    def forward_once(self, x):
        return self.fc(self.cnn(x).view(x.size(0), -1))

    def forward(self, input1, input2):
        return self.out(torch.abs(self.forward_once(input1) - self.forward_once(input2)))
