import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 12)
        self.out = nn.Linear(12, 3)

    def reset(self):
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-0.1, 0.1)  # expect: AD109

    def forward(self, x):
        return self.out(self.words(x))


torch.manual_seed(0)
words = torch.randint(0, 30, (80, 6))
tags = words % 3
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=1e-2)
for epoch in range(8):
    tagger.reset()
    for low in range(0, 80, 20):
        loss = nn.functional.cross_entropy(tagger(words[low : low + 20]).transpose(1, 2), tags[low : low + 20])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
