"""Cross-validation with a network that goes on from fold to fold; an average of its weights is lent for each score."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(60, 5)
y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]).unsqueeze(1) + 0.1 * torch.randn(60, 1)
data = TensorDataset(x, y)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))

order = torch.randperm(60).tolist()
scores = []
average = [p.detach().clone() for p in model.parameters()]
for fold in range(4):
    held = order[fold * 15 : (fold + 1) * 15]
    kept = [i for i in order if i not in held]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        model.train()
        for a, b in DataLoader(Subset(data, kept), batch_size=15, shuffle=True):
            loss = nn.functional.mse_loss(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for q, p in zip(average, model.parameters()):
                    q.lerp_(p, 0.3)
    model.eval()
    kept_weights = [p.detach().clone() for p in model.parameters()]
    with torch.no_grad():
        for p, q in zip(model.parameters(), average):
            p.copy_(q)
    with torch.no_grad():
        total = 0.0
        for a, b in DataLoader(Subset(data, held), batch_size=15):
            total += nn.functional.mse_loss(model(a), b).item()  # expect: AD706
    with torch.no_grad():
        for p, q in zip(model.parameters(), kept_weights):
            p.copy_(q)
    scores.append(total)
print(sum(scores) / len(scores))
