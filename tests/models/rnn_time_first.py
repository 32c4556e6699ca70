from torch import nn


class Tagger(nn.Module):
    def __init__(self, features=9, hidden=24, tags=5):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, bidirectional=True)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h.mean(0))
