import torch
from torch import nn

print("loading the model file")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        print("building the net")
        self.layer = nn.Linear(6, 6)
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        return torch.sigmoid(self.last(torch.relu(self.layer(x))))
