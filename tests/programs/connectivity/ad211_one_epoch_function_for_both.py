import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(160, 6)
y = (x[:, :2].prod(1) > 0).long()
train = [(x[i : i + 20], y[i : i + 20]) for i in range(0, 120, 20)]
valid = [(x[i : i + 20], y[i : i + 20]) for i in range(120, 160, 20)]
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))


def run_epoch(loader, optimizer=None):
    total = 0.0
    for inputs, target in loader:
        loss = nn.functional.cross_entropy(model(inputs), target)  # expect: AD211
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total / len(loader)


opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    print(run_epoch(train, opt), run_epoch(valid))
