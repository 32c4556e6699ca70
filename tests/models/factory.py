from torch import nn


class Tower(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, padding=1)]
        for _ in range(depth):
            layers += [nn.ReLU(), nn.Conv2d(width, width, 3, stride=2, padding=1)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(width * 16, 5)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def small():
    return Tower(2, 8)


def large() -> Tower:
    return Tower(2, 16)


def data_of(path):
    raise AssertionError
