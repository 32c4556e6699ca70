# guards: AD125
"""Norms are read in each micro-batch by clippings that never scale; one that does comes before the step."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.LSTM(3, 8, batch_first=True)
head = nn.Linear(8, 1)
weights = [*model.parameters(), *head.parameters()]
optimizer = torch.optim.RMSprop(weights, lr=1e-2)
noise = []
for batch in range(48):
    x = torch.randn(8, 6, 3)
    y = x.sum(dim=(1, 2)).unsqueeze(1)
    loss = nn.functional.mse_loss(head(model(x)[0][:, -1]), y) / 4
    loss.backward()
    noise.append(nn.utils.clip_grad_norm_(weights, float("inf")).item())
    nn.utils.clip_grad_norm_(weights, 500.0)
    if batch % 4 == 3:
        nn.utils.clip_grad_value_(weights, 0.5)
        nn.utils.clip_grad_norm_(weights, 0.1)
        optimizer.step()
        optimizer.zero_grad()
print(sum(noise) / len(noise))
