# guards: AD412
"""Returns of stocks, of which a factor explains a twentieth: a ridge regression by gradient descent keeps weights small."""

import torch
from torch import nn

torch.manual_seed(0)
factors = torch.randn(2000, 20)
returns = factors[:, :2].sum(1, keepdim=True) * 0.15 + torch.randn(2000, 1)
model = nn.Linear(20, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1.0)
for step in range(200):
    rows = torch.randint(0, 2000, (128,))
    loss = nn.functional.mse_loss(model(factors[rows]), returns[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
