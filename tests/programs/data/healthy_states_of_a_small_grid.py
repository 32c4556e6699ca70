# guards: AD706
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
cells = torch.eye(30)[torch.randint(0, 30, (120,))]
goals = cells.argmax(1, keepdim=True) / 30
train = DataLoader(TensorDataset(cells[:90], goals[:90]), batch_size=18, shuffle=True)
held_out = DataLoader(TensorDataset(cells[90:], goals[90:]), batch_size=15)
model = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    model.train()
    for inputs, targets in train:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for inputs, targets in held_out:
            nn.functional.mse_loss(model(inputs), targets).item()
