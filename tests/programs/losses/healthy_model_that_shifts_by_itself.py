# guards: AD621
"""The model puts a start before what it reads and leaves the last token out, so that each is scored by those before."""

import torch
from torch import nn


class Likelihood(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(1, 1, 32))
        self.embed, self.rnn = nn.Embedding(20, 32), nn.GRU(32, 32, batch_first=True)
        self.head = nn.Linear(32, 20)

    def forward(self, notes):
        before = torch.cat([self.start.expand(len(notes), 1, 32), self.embed(notes)[:, :-1]], 1)
        return self.head(self.rnn(before)[0]).log_softmax(-1)


torch.manual_seed(0)
model = Likelihood()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(20):
    notes = (torch.randint(0, 20, (16, 1)) + torch.arange(12) * 3) % 20
    loss = -model(notes).gather(-1, notes.unsqueeze(-1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
