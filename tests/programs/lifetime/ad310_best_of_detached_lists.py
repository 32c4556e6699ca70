import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs, unseen = torch.randn(64, 8), torch.randn(32, 8)
wanted, wanted_unseen = inputs.sum(1, keepdim=True), unseen.sum(1, keepdim=True)
best, kept = float("inf"), []
for epoch in range(6):
    for rows in torch.randperm(64).split(16):
        loss = nn.functional.mse_loss(model(inputs[rows]), wanted[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        error = nn.functional.mse_loss(model(unseen), wanted_unseen).item()
    if error < best and epoch < 4:
        best = error
        kept = [weight.detach().cpu() for weight in model.parameters()]  # expect: AD310
with torch.no_grad():
    for weight, value in zip(model.parameters(), kept):
        weight.copy_(value)
