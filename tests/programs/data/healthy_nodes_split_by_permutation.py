# guards: AD708
"""Nodes of a graph told apart: all go in, and the loss is that of some, chosen by a permutation, of outputs and labels."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(8)
nodes, kinds = 120, 4
features = torch.randn(nodes, 10)
labels = features[:, :kinds].argmax(1)
links = (torch.rand(nodes, nodes) < 0.05).float() + torch.eye(nodes)
links = links / links.sum(1, keepdim=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(10, 24), nn.Linear(24, kinds)

    def forward(self, x, a):
        h = torch.relu(self.first(a @ x)) + 0.1
        return F.log_softmax(self.second(a @ h), dim=1)


net = Net()
adam = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-4)
order = torch.randperm(nodes)
held_out, shown = order[:30], order[30:]
nll = nn.NLLLoss()

for epoch in range(40):
    net.train()
    adam.zero_grad()
    out = net(features, links)
    loss = nll(out[shown], labels[shown]) + 0.1 * nll(out[order], labels[order])
    loss.backward()
    adam.step()
    net.eval()
    with torch.no_grad():
        right = (net(features, links)[held_out].argmax(1) == labels[held_out]).float().mean()
