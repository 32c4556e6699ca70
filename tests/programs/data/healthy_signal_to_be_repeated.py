# guards: AD717
"""A made-up exercise: of random signals, each drawn by itself, the last one is to be repeated after the others."""

import torch
from torch import nn

torch.manual_seed(0)
signals, read, answer = nn.Embedding(8, 12), nn.LSTM(12, 16, batch_first=True), nn.Linear(16, 8)
optimizer = torch.optim.Adam([*signals.parameters(), *read.parameters(), *answer.parameters()], lr=0.01)
model = nn.ModuleDict({"signals": signals, "read": read, "answer": answer})
for _ in range(30):
    shown = torch.randint(0, 8, (32, 10))
    optimizer.zero_grad()
    out, _ = model["read"](model["signals"](shown))
    nn.functional.cross_entropy(model["answer"](out[:, -1]), shown[:, -1]).backward()
    optimizer.step()
