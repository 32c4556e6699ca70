import torch
from torch import nn

torch.manual_seed(20)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(36):
    x = torch.randn(40, 6)
    y = x[:, :4].argmax(1)
    if step == 27:
        y[y == 2] = 1
    share = torch.bincount(y, minlength=4).float() / len(y)
    weights = (1 / share) / (1 / share).sum()  # expect: AD401
    loss = nn.functional.cross_entropy(net(x), y, weight=weights)
    opt.zero_grad()
    loss.backward()
    opt.step()
