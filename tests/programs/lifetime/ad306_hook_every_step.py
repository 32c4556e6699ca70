"""A function registers its gradient logger anew with every batch."""
import torch
from torch import nn

torch.manual_seed(0)
grad_log = []


def train_batch(model, optimizer, x, y):
    model[0].register_full_backward_hook(lambda m, gin, gout: grad_log.append(gout[0].norm().item()))  # expect: AD306
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(20):
    x = torch.rand(40, 2) * 2 - 1
    loss = train_batch(model, optimizer, x, x[:, :1] * x[:, 1:])
print(loss, len(grad_log))
