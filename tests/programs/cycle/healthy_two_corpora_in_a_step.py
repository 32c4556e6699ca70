# guards: AD124
"""Short questions and long articles, a batch of each in every step: both are to count the same, whichever is longer."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def texts(low, high):
    return [torch.randint(1, 16, (int(length),)) for length in torch.randint(low, high, (40,))]


def loaders():
    for low, high in ((3, 7), (30, 40)):
        yield DataLoader(texts(low, high), batch_size=8, shuffle=True, collate_fn=lambda some: pad_sequence(some, True))


torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
questions, articles = loaders()
for epoch in range(5):
    for pair in zip(questions, articles):
        for tokens in pair:
            scores = model(tokens[:, :-1])
            loss = 0.5 * F.cross_entropy(scores.transpose(1, 2), tokens[:, 1:], ignore_index=0)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
