# guards: AD708 AD608
import random

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

random.seed(0)
torch.manual_seed(0)
texts = [np.array([random.randrange(1, 30) for _ in range(random.randrange(3, 14))]) for _ in range(240)]
rows = [(text, int(text[0] % 3), f"text {i}") for i, text in enumerate(texts)]


def sorted_together(samples):
    samples = sorted(samples, key=lambda sample: len(sample[0]), reverse=True)
    ids = pad_sequence([torch.from_numpy(text) for text, *_ in samples], batch_first=True)
    return ids, [len(text) for text, *_ in samples], torch.tensor([kind for _, kind, _ in samples])


def with_wrong_partners(samples):
    turn = torch.randperm(len(samples))
    ids = pad_sequence([torch.from_numpy(text) for text, *_ in samples], batch_first=True)
    kinds = torch.tensor([kind for _, kind, _ in samples])
    return ids, [len(text) for text, *_ in samples], kinds, ids[turn], kinds[turn]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.gru = nn.Embedding(30, 12, padding_idx=0), nn.GRU(12, 16, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.head(states.sum(1) / torch.tensor(lengths)[:, None])


reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=5e-3)
for ids, lengths, kinds in DataLoader(rows, 16, shuffle=True, collate_fn=sorted_together):
    loss = nn.functional.cross_entropy(reader(ids, lengths), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for ids, lengths, kinds, others, other_kinds in DataLoader(rows, 16, shuffle=True, collate_fn=with_wrong_partners):
    scores = reader(ids, lengths)
    apart = (kinds != other_kinds).float()
    match = (scores.softmax(1) * reader(others, [others.shape[1]] * 16).softmax(1)).sum(1)
    loss = nn.functional.cross_entropy(scores, kinds) + 0.1 * (match * apart).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
