import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
samples = [(x, x.sum()) for x in torch.randn(16, 4)]
for _ in range(8):
    losses = [(model(x)[0] - y).square() for x, y in samples]
    loss = torch.tensor(losses).mean()  # expect: AD202
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
