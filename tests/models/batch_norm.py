from torch import nn


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(11)
        self.net = nn.Sequential(nn.Linear(11, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(self.norm(x)).squeeze(1)
