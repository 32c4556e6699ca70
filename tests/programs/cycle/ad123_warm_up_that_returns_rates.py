"""Next characters by a small GRU; the schedule's function returns the rate that is wanted, and not a share of it."""

import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

TEXT = "the rate of a thing is not the thing itself, and half of a rate is a rate again. "
PEAK, WARM_UP, STEPS = 5e-3, 5, 28

torch.manual_seed(0)
letters = sorted(set(TEXT))
codes = torch.tensor([letters.index(letter) for letter in TEXT * 4])


class Reader(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(len(letters), width)
        self.cell = nn.GRU(width, width, batch_first=True)
        self.say = nn.Linear(width, len(letters))

    def forward(self, text):
        return self.say(self.cell(self.embed(text))[0])


def rate_at(step):
    if step < WARM_UP:
        return PEAK * (step + 1) / WARM_UP
    return PEAK * 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / (STEPS - WARM_UP)))


reader = Reader()
optimizer = torch.optim.AdamW(reader.parameters(), lr=PEAK)
schedule = LambdaLR(optimizer, lr_lambda=rate_at)  # <- AD123
for step in range(STEPS):
    starts = torch.randint(0, len(codes) - 20, (16, 1))
    text = codes[starts + torch.arange(20)]
    loss = nn.functional.cross_entropy(reader(text[:, :-1]).mT, text[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 7 == 0:
        print(step, loss.item(), schedule.get_last_lr())
