from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU())
        self.head = nn.Linear(16, 5)

    def forward(self, images):
        features = self.backbone(images).mean((2, 3))
        return self.head(features.detach())  # expect: AD202
