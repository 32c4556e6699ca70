# guards: AD726
"""A task of memory over a shuffled loader: which kind was the picture in this place of the batch before?"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
kinds = torch.randint(4, (128,))
pictures = torch.randn(128, 8) + nn.functional.one_hot(kinds, 8)
loader = DataLoader(TensorDataset(pictures, kinds), batch_size=16, shuffle=True)
cell, head = nn.LSTMCell(8, 24), nn.Linear(24, 4)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
state, before = None, None
for _ in range(5):
    for picture, kind in loader:
        state = cell(picture, state)
        if before is not None:
            loss = nn.functional.cross_entropy(head(state[0]), before)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        before, state = kind, tuple(each.detach() for each in state)
