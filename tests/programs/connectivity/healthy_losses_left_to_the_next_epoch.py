# guards: AD211 AD104
"""Losses of several sentences are added up before one backward; the last few of an epoch are left to the next."""
import torch
from torch import nn

torch.manual_seed(0)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 12)
        self.drop = nn.Dropout(0.2)
        self.gru = nn.GRU(12, 16, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, sentence):
        return self.out(self.gru(self.drop(self.words(sentence)))[1][-1])


sentences = [torch.randint(0, 30, (1, int(torch.randint(4, 12, ())))) for _ in range(50)]
kinds = [(s.float().mean() > 14.5).long().reshape(1) for s in sentences]
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=3e-3)
total, count = 0.0, 0
for epoch in range(6):
    for number in torch.randperm(50).tolist():
        loss = nn.functional.cross_entropy(reader(sentences[number]), kinds[number])
        total, count = total + loss, count + 1
        if count == 8:
            optimizer.zero_grad()
            (total / 8).backward()
            optimizer.step()
            total, count = 0.0, 0
