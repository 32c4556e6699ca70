from torch import nn


class Net(nn.Module):
    def __init__(self, in_dim: int, out_dim, width: int = 16, activation=nn.ReLU):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, width), activation(), nn.Linear(width, out_dim))

    def forward(self, x):
        return self.net(x)
