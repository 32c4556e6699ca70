# guards: AD401 AD402
import torch
from torch import nn

torch.manual_seed(1)
net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(30):
    x = torch.rand(16, 4)
    scale = 0.0 if step == 21 else 1.0
    loss = scale * (net(x) - x.sum(1, keepdim=True)).square().mean()
    opt.zero_grad()
    loss.backward()
    for p in net.parameters():
        p.grad /= p.grad.norm() + 1e-8
    opt.step()
