import torch
from torch import nn
from torch.utils.data import DataLoader

def train(model, optimizer, loader):
    losses = []
    for x in loader:
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)  # expect: AD301
    return sum(losses).item() / len(losses)

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(torch.randn(144, 8), batch_size=16, shuffle=True)
for _ in range(3):
    train(model, optimizer, loader)
