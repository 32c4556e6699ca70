# guards: AD721
"""Each of three cohorts is left out in its turn; the machines of one of them count much higher."""
import torch
from torch import nn

torch.manual_seed(0)
cohorts = [s * (torch.rand(40, 5) + 0.3) for s in (1, 2, 60)]
for out in range(3):
    x = torch.cat([c for i, c in enumerate(cohorts) if i != out])
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        for rows in torch.randperm(len(x)).split(20):
            loss = nn.functional.mse_loss(model(x[rows]), x[rows].sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        held = cohorts[out]
        print(nn.functional.l1_loss(model(held), held.sum(1, keepdim=True)).item())
