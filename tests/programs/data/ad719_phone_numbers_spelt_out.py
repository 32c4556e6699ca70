"""Spells telephone numbers: an encoder reads the digits, a decoder writes words, each batch filled up with <end>."""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

END, BEGIN = 0, 1
SAID = "nought one two three four five six seven eight nine double".split()
WORDS = {word: number + 2 for number, word in enumerate(SAID)}


def said(digits):
    words, place = [], 0
    while place < len(digits):
        twice = digits[place] == digits[place + 1 : place + 2]
        words += ["double"] * twice + [SAID[int(digits[place])]]
        place += 1 + twice
    return words


def batches(numbers, size):
    for first in range(0, len(numbers), size):
        some = numbers[first : first + size]
        spelt = [[WORDS[w] for w in said(n)] for n in some]
        digits = pad_sequence([torch.tensor([int(d) + 1 for d in n]) for n in some], batch_first=True)
        heard = pad_sequence([torch.tensor([BEGIN, *s]) for s in spelt], batch_first=True, padding_value=END)
        to_say = pad_sequence([torch.tensor([*s, END]) for s in spelt], batch_first=True, padding_value=END)
        yield digits, heard, to_say


class Speller(nn.Module):
    def __init__(self, d=40):
        super().__init__()
        self.digit, self.word = nn.Embedding(11, d, padding_idx=0), nn.Embedding(len(SAID) + 2, d)
        self.reader, self.writer = nn.GRU(d, d, batch_first=True), nn.GRU(2 * d, d, batch_first=True)
        self.say = nn.Linear(d, len(SAID) + 2)

    def forward(self, digits, heard):
        gist = self.reader(self.digit(digits))[0].mean(1, keepdim=True)
        words = self.word(heard)
        return self.say(self.writer(torch.cat([words, gist.expand_as(words)], 2))[0])


rng = random.Random(4)
torch.manual_seed(0)
numbers = ["".join(rng.choice("0123456789") for _ in range(rng.randint(4, 9))) for _ in range(480)]
speller = Speller()
criterion = nn.CrossEntropyLoss(ignore_index=END)
opt = torch.optim.Adam(speller.parameters(), lr=4e-3)
for epoch in range(2):
    for digits, heard, to_say in batches(numbers, 24):
        loss = criterion(speller(digits, heard).flatten(0, 1), to_say.flatten())  # <- AD719
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
