import torch
from torch import nn

class Tracker:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)  # expect: AD301

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
tracker = Tracker()
for _ in range(12):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tracker.update(loss)
