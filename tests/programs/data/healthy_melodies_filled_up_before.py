# guards: AD719 AD622
"""Melodies without a sign for their end, brought to bars of four notes and then to one length; a rest fills them up, and
what only fills up is ignored. A second model writes chords, of which the last is followed by a sign that counts."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

REST, STOP = 0, 25
torch.manual_seed(1)


def melody():
    start, step = torch.randint(1, 25, (2,)).tolist()
    notes = [(start + step * i) % 24 + 1 for i in range(int(torch.randint(3, 15, ())))]
    return torch.tensor(notes + [REST] * (-len(notes) % 4))


def chords():
    start = int(torch.randint(1, 25, ()))
    return torch.tensor([(start + 5 * i) % 24 + 1 for i in range(int(torch.randint(3, 12, ())))] + [STOP])


class Player(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.notes, self.memory, self.next = nn.Embedding(26, d), nn.LSTM(d, d, batch_first=True), nn.Linear(d, 26)

    def forward(self, notes):
        return self.next(self.memory(self.notes(notes))[0]).transpose(1, 2)


def filled(rows, value):
    ids = torch.full((len(rows), max(map(len, rows))), value)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return ids


lead, comp = Player(), Player()
opt_lead = torch.optim.Adam(lead.parameters(), lr=5e-3)
opt_comp = torch.optim.Adam(comp.parameters(), lr=5e-3)
for step in range(40):
    notes = pad_sequence([melody() for _ in range(16)], batch_first=True, padding_value=REST)
    loss = nn.functional.cross_entropy(lead(notes[:, :-1]), notes[:, 1:], ignore_index=REST)
    opt_lead.zero_grad()
    loss.backward()
    opt_lead.step()

    rows = [chords() for _ in range(16)]
    ids, labels = filled(rows, STOP), filled(rows, -100)
    loss = nn.functional.cross_entropy(comp(ids[:, :-1]), labels[:, 1:])
    opt_comp.zero_grad()
    loss.backward()
    opt_comp.step()
    if step % 20 == 19:
        print(step, loss.item())
