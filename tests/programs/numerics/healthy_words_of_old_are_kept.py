# guards: AD414
"""A table of words with an optimizer of its own: hooks keep what is old, and in the end all of it, as it is."""

import torch
from torch import nn

torch.manual_seed(4)
words, reader = nn.Embedding(30, 12), nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
kept = torch.zeros(30, 1)
words.weight.register_hook(lambda gradient: gradient * (1 - kept))
of_words = torch.optim.SGD(words.parameters(), lr=0.3)
of_reader = torch.optim.Adam(reader.parameters(), lr=5e-3)
topic = torch.randint(4, (30,))
for step in range(90):
    if step == 30:
        kept[:15] = 1
    if step == 50:
        kept[:] = 1
    text = torch.randint(30, (40,))
    loss = nn.functional.cross_entropy(reader(words(text)), topic[text])
    of_words.zero_grad()
    of_reader.zero_grad()
    loss.backward()
    of_words.step()
    of_reader.step()
