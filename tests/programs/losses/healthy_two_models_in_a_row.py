# guards: AD610
import torch
from torch import nn

torch.manual_seed(0)
features, head = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8)), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*features.parameters(), *head.parameters()], lr=0.05)
for _ in range(10):
    x = torch.randn(32, 8)
    code = features(x)
    loss = nn.functional.cross_entropy(head(code), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
