# guards: AD206
"""Melodies: the vectors of rests and bars are given, and get no gradient. Nothing else moves them: no decay, and Adam
has never seen a gradient there."""
import torch
from torch import nn

torch.manual_seed(6)
notes = nn.Embedding(30, 12)
notes.weight.register_hook(lambda slope: slope * (torch.arange(30) >= 4).float()[:, None])
rnn, out = nn.GRU(12, 32, batch_first=True), nn.Linear(32, 30)
optimizer = torch.optim.Adam([*notes.parameters(), *rnn.parameters(), *out.parameters()], lr=4e-3)
start = torch.randint(0, 30, (256, 1))
tunes = (start + torch.arange(9) * 7) % 30
for _ in range(40):
    tune = tunes[torch.randint(0, 256, (48,))]
    states, _ = rnn(notes(tune[:, :-1]))
    loss = nn.functional.cross_entropy(out(states).flatten(0, 1), tune[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(notes.parameters(), 1.0)
    optimizer.step()
