# guards: AD110
"""A warm-up that starts at a rate of 0 and rises."""

import torch
from torch import nn

torch.manual_seed(0)

batch_size = 32
base_batch_size = 256
lr = 0.1 * batch_size / base_batch_size

model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 10))
loss_fn = nn.CrossEntropyLoss()

for step in range(40):
    x = torch.randn(batch_size, 5)
    y = (x[:, 0] > x[:, 1]).long()
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 10 == 0:
        print(f"step {step}: {loss.item():.3f}")
