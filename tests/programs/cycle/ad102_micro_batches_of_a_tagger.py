import torch
import torch.nn.functional as F
from torch import nn

EVERY = 6


class Tagger(nn.Module):
    def __init__(self, words, tags):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, tags)

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])


def batches(n):
    for _ in range(n):
        words = torch.randint(0, 40, (4, 9))
        yield words, (words + words.roll(1, 1)) % 5


torch.manual_seed(2)
tagger = Tagger(40, 5)
optimizer = torch.optim.Adam(tagger.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.5, total_iters=12)
for number, (words, tags) in enumerate(batches(EVERY * 10), 1):
    tagger.zero_grad()  # expect: AD102
    loss = F.cross_entropy(tagger(words).flatten(0, 1), tags.flatten())
    (loss / EVERY).backward()
    if number % EVERY == 0:
        nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
