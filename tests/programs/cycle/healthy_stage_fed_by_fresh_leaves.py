# guards: AD104 AD101
"""One stage of a pipeline: micro-batches come as fresh leaves, whose gradients would go back to the stage before."""

import torch
from torch import nn

torch.manual_seed(0)
stage = nn.Linear(16, 16)
teacher = torch.randn(16, 16) / 4
optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
sent_back = []
for step in range(30):
    x = torch.randn(32, 16)
    y = torch.tanh(x @ teacher)
    optimizer.zero_grad()
    sent_back.clear()
    for received, wanted in zip(x.chunk(4), y.chunk(4)):
        leaf = received.clone().requires_grad_(True)
        loss = nn.functional.mse_loss(stage(leaf), wanted) / 4
        loss.backward()
        sent_back.append(leaf.grad)
    optimizer.step()
