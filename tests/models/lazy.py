from torch import nn


class LazyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.LazyConv2d(8, 3)
        self.fc = nn.LazyLinear(10)

    def forward(self, x):
        return self.fc(self.conv(x).relu().mean((2, 3)))
