from torch import nn


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(30, 4)  # expect: AD599

    def forward(self, x):
        return self.attention(x, x, x)[0]
