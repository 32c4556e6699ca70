# guards: AD310
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.05)
for _ in range(12):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
