import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 8)
optimizer = torch.optim.SGD(head.parameters(), lr=0.05)  # expect: AD204
x = torch.randn(32, 6)
labels = (x[:, 0] > 0).long()
for _ in range(8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(backbone(x)), labels).backward()
    optimizer.step()
