"""Anchor boxes: box loss for the positives, whose mask is int32."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(4)
A = 25
centres = torch.cartesian_prod(torch.arange(5.), torch.arange(5.))
net = nn.Sequential(nn.Linear(25, 64), nn.ReLU())
cls, box = nn.Linear(64, A), nn.Linear(64, A * 2)
opt = torch.optim.SGD([p for m in (net, cls, box) for p in m.parameters()], 0.05)
for step in range(80):
    gt = torch.rand(2) * 4
    d = (centres - gt).norm(dim=1)
    image = torch.exp(-d.square())
    positive = (d < 1.2).int()
    h = net(image)
    deltas = box(h).view(A, 2)
    cls_loss = F.binary_cross_entropy_with_logits(cls(h), positive.float())
    box_loss = F.smooth_l1_loss(deltas[positive], (gt - centres)[positive])  # expect: AD635
    loss = cls_loss + box_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
