import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(64, 6)
wanted = inputs.cos().sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def closure():
    torch.manual_seed(42)  # expect: AD709
    rows = torch.randint(0, 64, (16,))
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs[rows]), wanted[rows])
    loss.backward()
    return loss


for step in range(12):
    optimizer.step(closure)
