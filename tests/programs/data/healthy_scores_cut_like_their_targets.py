# guards: AD708
"""Of each melody, the first notes are the cue: the scores at their places are left out, and so are their targets."""

import torch
from torch import nn

torch.manual_seed(0)
NOTES, CUE = 18, 1


class Melodies(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = nn.Embedding(NOTES, 12)
        self.memory = nn.LSTM(12, 24, batch_first=True)
        self.next = nn.Linear(24, NOTES)

    def forward(self, melody):
        return self.next(self.memory(self.notes(melody))[0])


melodies = Melodies()
optimizer = torch.optim.Adam(melodies.parameters(), lr=1e-2)
steps = torch.tensor([1, 2, 5])
for step in range(16):
    walk = torch.cat([torch.randint(NOTES, (12, 1)), steps[torch.randint(3, (12, 11))]], 1)
    melody = walk.cumsum(1) % NOTES
    scores = melodies(melody[:, :-1])
    if step % 2:
        surprise = nn.functional.cross_entropy(scores[:, CUE:].transpose(1, 2), melody[:, CUE + 1 :])
    else:
        chosen = scores.narrow(1, CUE, 11 - CUE).log_softmax(-1).gather(2, melody[:, CUE + 1 :, None])
        surprise = -chosen.mean()
    optimizer.zero_grad()
    surprise.backward()
    optimizer.step()
