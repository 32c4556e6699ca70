# guards: AD706
"""Scores on training data beside those on data that were held out, a teacher, and a policy that acts in eval mode."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(150, 6)
y = x[:, :3].argmax(1)
train, held_out = random_split(TensorDataset(x, y), [120, 30])
loaders = {
    "train": DataLoader(Subset(train, range(40)), batch_size=20),
    "test": DataLoader(held_out, batch_size=15),
}
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
teacher = copy.deepcopy(net).requires_grad_(False).eval()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(3):
    net.train()
    for a, b in DataLoader(train, batch_size=20, shuffle=True):
        with torch.no_grad():
            said = teacher(a).softmax(1)
        out = net(a)
        loss = nn.functional.cross_entropy(out, b) + 0.1 * nn.functional.kl_div(out.log_softmax(1), said)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    for name, loader in loaders.items():
        with torch.no_grad():
            right = sum((net(a).argmax(1) == b).sum().item() for a, b in loader)
