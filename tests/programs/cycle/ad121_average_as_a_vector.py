"""The average of the weights is kept as one vector."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 1))
averaged = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 1))
avg = parameters_to_vector(model.parameters()).detach().clone()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(40):
    x = torch.randn(64, 12)
    loss = nn.functional.mse_loss(model(x), x.sin().sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    new = parameters_to_vector(model.parameters()).detach()
    avg = 0.99 * avg + 0.1 * new  # expect: AD121
vector_to_parameters(avg, averaged.parameters())
averaged.eval()
with torch.no_grad():
    x = torch.randn(64, 12)
    print(nn.functional.mse_loss(averaged(x), x.sin().sum(1, keepdim=True)).item())
