"""Features are computed once outside the loop, with their graph, and the loop goes backward through them again."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
classifier = nn.Linear(32, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *classifier.parameters()], lr=5e-3)

features = encoder(x)
for epoch in range(25):
    loss = nn.functional.cross_entropy(classifier(features), y)
    optimizer.zero_grad()
    loss.backward()  # expect: AD504
    optimizer.step()
    if epoch % 8 == 0:
        print(epoch, loss.item())
