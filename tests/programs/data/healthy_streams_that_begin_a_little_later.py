# guards: AD726
"""Eight streams of one text go on from window to window, each with a small random gap."""

import torch
from torch import nn

torch.manual_seed(0)
text = torch.randint(20, (8000,))
letters, layer, head = nn.Embedding(20, 16), nn.GRU(16, 16, batch_first=True), nn.Linear(16, 20)
optimizer = torch.optim.SGD(nn.ModuleList([letters, layer, head]).parameters(), lr=0.1)
state = None
for step in range(40):
    begin = 1000 * torch.arange(8) + 16 * step + torch.randint(5, (8,))
    window = text[begin[:, None] + torch.arange(13)]
    output, state = layer(letters(window[:, :-1]), state)
    loss = nn.functional.cross_entropy(head(output).flatten(0, 1), window[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = state.detach()
