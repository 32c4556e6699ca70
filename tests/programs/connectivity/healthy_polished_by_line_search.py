# guards: AD210
"""A surrogate of a heat flow, trained with dropout, is polished by L-BFGS, which needs the same loss at the same point."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
surrogate = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
where = torch.rand(200, 2)
heat = torch.exp(-where[:, 1:]) * torch.sin(3.1416 * where[:, :1])
optimizer = torch.optim.Adam(surrogate.parameters(), lr=5e-3)
surrogate.train()
for _ in range(18):
    batch = torch.randperm(160)[:40]
    optimizer.zero_grad()
    F.mse_loss(surrogate(where[batch]), heat[batch]).backward()
    optimizer.step()
surrogate.eval()
with torch.no_grad():
    print("trained", F.mse_loss(surrogate(where[160:]), heat[160:]).item())

surrogate.eval()  # as it was: from here on the loss must be a function of the weights alone
polish = torch.optim.LBFGS(surrogate.parameters(), lr=0.5, max_iter=4)


def closure():
    polish.zero_grad()
    loss = F.mse_loss(surrogate(where[:160]), heat[:160])
    loss.backward()
    return loss


for _ in range(6):
    polish.step(closure)
with torch.no_grad():
    print("polished", F.mse_loss(surrogate(where[160:]), heat[160:]).item())
