# guards: AD706
"""Cross-validation with one network, which `reset_parameters` gives new weights for each fold."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(60, 5)
y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]).unsqueeze(1) + 0.1 * torch.randn(60, 1)
data = TensorDataset(x, y)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))


def reset(module):
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()


order = torch.randperm(60).tolist()
scores = []
for fold in range(4):
    held = order[fold * 15 : (fold + 1) * 15]
    kept = [i for i in order if i not in held]
    model.apply(reset)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        model.train()
        for a, b in DataLoader(Subset(data, kept), batch_size=15, shuffle=True):
            loss = nn.functional.mse_loss(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        total = 0.0
        for a, b in DataLoader(Subset(data, held), batch_size=15):
            total += nn.functional.mse_loss(model(a), b).item()
    scores.append(total)
print(sum(scores) / len(scores))
