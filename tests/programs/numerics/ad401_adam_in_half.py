import torch
from torch import nn

torch.manual_seed(1)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)).half()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6)
    x[:, 0] = 0
    loss = (net(x.half()).float() - x.sum(1, keepdim=True)).square().mean() * 0.01
    opt.zero_grad()
    loss.backward()
    opt.step()  # expect: AD401
