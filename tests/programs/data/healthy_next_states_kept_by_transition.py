# guards: AD728
"""What a frozen encoder makes of next states is kept for each transition: these were shuffled, and are states, too."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
walk = torch.randn(161, 6).cumsum(0) / 10
order = torch.randperm(160)
states, following = walk[:-1][order], walk[1:][order]
encoder = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4)).requires_grad_(False)
predictor = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
kept = torch.cat([encoder(later) for _, later in DataLoader(TensorDataset(states, following), batch_size=20)])

optimizer = torch.optim.Adam(predictor.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.arange(160), states, following), batch_size=20, shuffle=True)
for _ in range(5):
    for numbers, now, _ in loader:
        loss = nn.functional.mse_loss(predictor(now), kept[numbers])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
