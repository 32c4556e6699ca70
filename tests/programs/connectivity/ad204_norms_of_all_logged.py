"""A head that the optimizer does not know: the log of all gradient norms reads its gradients beside the others."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
encoder, head = nn.GRU(4, 12, batch_first=True), nn.Linear(12, 3)
optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-3)  # expect: AD204
for step in range(24):
    labels = torch.randint(0, 3, (32,))
    states, _ = encoder(torch.randn(32, 8, 4) + F.one_hot(labels, 4)[:, None])
    loss = F.cross_entropy(head(states[:, -1]), labels)
    optimizer.zero_grad()
    loss.backward()
    norms = [parameter.grad.norm().item() for parameter in (*head.parameters(), *encoder.parameters())]
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item(), max(norms))
