# guards: AD706
"""Alloys are measured in rounds, by a plan: the model guesses the next ones beside the last, before it learns of them."""

import torch
from torch import nn

torch.manual_seed(0)
alloys = torch.rand(240, 7)
hardness = (alloys[:, :1] * alloys[:, 1:2] + alloys[:, 2:3].square()).sqrt()
plan = torch.randperm(240)
model = nn.Sequential(nn.Linear(7, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for measured in range(60, 220, 40):
    known = plan[:measured]
    model.train()
    for _ in range(4):
        for batch in known[torch.randperm(measured)].split(20):
            loss = nn.functional.mse_loss(model(alloys[batch]), hardness[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        shown = plan[measured - 20 : measured + 40]
        error = (model(alloys[shown]) - hardness[shown]).abs()
    print(measured, "known", error[:20].mean().item(), "guessed", error[20:].mean().item())
