import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
inputs = torch.randn(80, 8)
wanted = inputs.sum(1, keepdim=True)
for epoch in range(5):
    optimizer.zero_grad()  # expect: AD102
    for number, rows in enumerate(torch.arange(80).split(8)):
        loss = nn.functional.mse_loss(model(inputs[rows]), wanted[rows]) / 4
        loss.backward()
        if (number + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
