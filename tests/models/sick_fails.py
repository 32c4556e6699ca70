from torch import nn


class Misspelled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x):
        return self.layers(x)  # expect: AD599
