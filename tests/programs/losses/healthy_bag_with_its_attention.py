# guards: AD628 AD605
"""Attention-based MIL (Ilse et al.), one bag a step: the first dimension is the instances of the bag. Loss of the bag, and
smoothness of the attention between neighbours, a sum within the bag."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class MIL(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.a = nn.Sequential(nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))
        self.c = nn.Linear(32, 1)

    def forward(self, bag):
        h = self.f(bag)
        a = self.a(h).squeeze(1).softmax(0)
        return self.c(a @ h), a


net = MIL()
opt = torch.optim.Adam(net.parameters(), 2e-3)
right = 0
for step in range(1000):
    bag = torch.randn(int(torch.randint(8, 16, ())), 8)
    y = torch.randint(0, 2, (1,)).float()
    if y:
        at = int(torch.randint(0, len(bag) - 3, ()))
        bag[at:at + 3, :2] += 3.0
    logit, a = net(bag)
    smooth = (a[1:] - a[:-1]).pow(2).sum()
    loss = F.binary_cross_entropy_with_logits(logit, y) + smooth
    opt.zero_grad()
    loss.backward()
    opt.step()
    right += int((logit > 0) == (y > 0))
    if step % 200 == 199:
        print(step, right / 200, round(smooth.item(), 3)); right = 0
