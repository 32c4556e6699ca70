# guards: AD405
import torch
from torch import nn

torch.manual_seed(61)
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
level = torch.zeros(4)
for t in range(80):
    x = torch.randn(64, 4) * 1.12**t
    level = 0.9 * level + 0.1 * x.abs().mean(0)
    loss = ((net(x / (x.std() + 1)) * level.mean()) - x.sum(1, keepdim=True)).square().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
