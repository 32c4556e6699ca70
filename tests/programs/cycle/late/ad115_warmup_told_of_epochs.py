"""A language model of a few epochs with a hundred steps of warm-up, of which it takes one after each epoch."""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

WARMUP, TOTAL = 100, 4_000


class Bigrams(nn.Module):
    def __init__(self, words=20, width=16):
        super().__init__()
        self.words, self.out = nn.Embedding(words, width), nn.Linear(width, words)

    def forward(self, tokens):
        return self.out(self.words(tokens))


def epochs_of(text, length=20):
    for start in range(0, len(text) - length - 1, length):
        yield text[start : start + length], text[start + 1 : start + length + 1]


torch.manual_seed(1)
text = torch.randint(0, 20, (240,)).cumsum(0) % 20
model = Bigrams()
optimizer = torch.optim.AdamW(
    [{"params": model.words.parameters(), "weight_decay": 0.0}, {"params": model.out.parameters()}], lr=4e-3
)
warm = LinearLR(optimizer, start_factor=0.01, end_factor=1.0, total_iters=WARMUP)
schedule = SequentialLR(optimizer, [warm, CosineAnnealingLR(optimizer, TOTAL - WARMUP)], milestones=[WARMUP])
for _ in range(10):
    for given, following in epochs_of(text):
        loss = nn.functional.cross_entropy(model(given), following)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    schedule.step()  # expect: AD115
