# guards: AD627
"""A creature without a left and a right: two actions have the same score by construction."""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
rest = nn.Linear(4, 2)
opt = torch.optim.Adam([*net.parameters(), *rest.parameters()], lr=0.01)
for s in range(40):
    x = torch.randn(64, 4)
    side = net(x.abs())
    y = torch.where(torch.rand(64) < .97, torch.randint(2, (64,)), torch.randint(2, 4, (64,)))
    logits = torch.cat([side, side, rest(x)], 1)
    loss = F.cross_entropy(logits, y)
    opt.zero_grad(); loss.backward(); opt.step()
