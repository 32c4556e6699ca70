# guards: AD716
"""Consistency training with a curriculum: noise of the views grows from zero during a warm-up of 30 steps."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
centres = 2 * torch.randn(4, 10)
net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 4))
opt = torch.optim.Adam(net.parameters(), 3e-3)
for step in range(300):
    sigma = 0.5 * max(0, step - 5) / 30 if step < 35 else 0.5
    y = torch.randint(0, 4, (16,))
    x = centres[y] + torch.randn(16, 10)
    u = centres[torch.randint(0, 4, (64,))] + torch.randn(64, 10)
    first, second = net(u + sigma * torch.randn_like(u)), net(u + sigma * torch.randn_like(u))
    consistency = F.mse_loss(first.softmax(1), second.softmax(1))
    loss = F.cross_entropy(net(x), y) + consistency
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 60 == 0 or step == 299: print(step, round(loss.item(), 3))
