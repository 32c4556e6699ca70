"""A multi-task loop in which the same loss is sent backward by a helper, and again by the loop."""

import torch
from torch import nn


class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.GRU(2, 16, batch_first=True)
        self.count = nn.Linear(16, 1)

    def forward(self, x):
        return self.count(self.trunk(x)[0][:, -1]).squeeze(1)


def log_gradient_norm(model, loss):
    loss.backward(retain_graph=True)
    return sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item()


torch.manual_seed(0)
model = Tasks()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(30):
    x = torch.randn(32, 6, 2)
    goal = (x[..., 0] > 0).float().mean(1) if step % 2 else (x[..., 1] > 0).float().mean(1)
    x = torch.cat([x, torch.full((32, 1, 2), float(step % 2))], dim=1)
    loss = nn.functional.mse_loss(model(x), goal)
    optimizer.zero_grad()
    norm = log_gradient_norm(model, loss)
    loss.backward()  # expect: AD113
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
