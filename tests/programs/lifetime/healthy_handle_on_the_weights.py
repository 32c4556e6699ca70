# guards: AD310
"""`weights` is taken once, as a handle: what it holds is copied into room of its own when it is the best, and saved."""

import io

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)
inputs = torch.randn(120, 8)
wanted = inputs[:, :3].sum(1, keepdim=True).sin() + 0.3 * torch.randn(120, 1)
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 1))
adam = torch.optim.Adam(model.parameters(), lr=1e-2)
weights = model.state_dict()
print("weights:", sum(value.numel() for value in weights.values()))
best = {name: torch.empty_like(value) for name, value in weights.items()}
lowest = float("inf")
for epoch in range(16):
    model.train()
    for rows in torch.randperm(80).split(20):
        adam.zero_grad()
        F.mse_loss(model(inputs[rows]), wanted[rows]).backward()
        adam.step()
    model.eval()
    with torch.no_grad():
        score = F.mse_loss(model(inputs[80:]), wanted[80:]).item()
    if score < lowest:
        lowest = score
        for name, value in best.items():
            value.copy_(weights[name])
file = io.BytesIO()
torch.save(weights, file)
model.load_state_dict(best)
with torch.no_grad():
    print(lowest, F.mse_loss(model(inputs[80:]), wanted[80:]).item(), len(file.getvalue()))
