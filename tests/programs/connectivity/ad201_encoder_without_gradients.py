import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
x = torch.randn(32, 6)
y = x.sum(1, keepdim=True).tanh()
for _ in range(8):
    with torch.no_grad():  # expect: AD201
        features = encoder(x)
    loss = nn.functional.mse_loss(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
