# guards: AD122
"""Half of the labels are noise: while they are learned by heart, the share of mistakes on clean data rises, and the
schedule rightly lowers the rate."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(96, 20)
clean = (x[:, 0] > 0).long()
noisy = torch.where(torch.rand(96) < 0.5, 1 - clean, clean)
held_out = torch.randn(400, 20)
truth = (held_out[:, 0] > 0).long()

model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", patience=2, factor=0.5)

for epoch in range(14):
    model.train()
    for rows in torch.randperm(96).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), noisy[rows]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        mistakes = (model(held_out).argmax(1) != truth).double().mean().item()
    plateau.step(mistakes)
    print(epoch, mistakes, plateau.get_last_lr())
