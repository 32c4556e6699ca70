# guards: AD706
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
drawings = torch.rand(2000, 8, 8)
data = drawings[torch.randint(0, 2000, (400,))]
held_out = drawings[torch.randint(0, 2000, (80,))]
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    model.train()
    for (images,) in DataLoader(TensorDataset(data), batch_size=40, shuffle=True):
        loss = nn.functional.mse_loss(model(images), images.flatten(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        nn.functional.mse_loss(model(held_out), held_out.flatten(1)).item()
