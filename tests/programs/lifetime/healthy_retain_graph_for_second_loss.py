# guards: AD304
"""Two losses on one trunk, each with a backward of its own: the first must retain the graph."""
import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.where, self.what = nn.Linear(32, 2), nn.Linear(32, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.where(h), self.what(h)


torch.manual_seed(0)
net = TwoHeads()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
W = torch.randn(6, 3)

for i in range(25):
    x = torch.randn(64, 6)
    box, logits = net(x)
    opt.zero_grad()
    box_loss = nn.functional.smooth_l1_loss(box, x[:, :2])
    box_loss.backward(retain_graph=True)
    class_loss = nn.functional.cross_entropy(logits, (x @ W).argmax(1))
    class_loss.backward()
    opt.step()
    if i % 8 == 0:
        print(i, box_loss.item(), class_loss.item())
