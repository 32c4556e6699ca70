# guards: AD623
"""Nodes of one graph are classified in full batches: with momentum 1, running statistics are those of the graph."""

import torch
from torch import nn

torch.manual_seed(0)
labels = torch.arange(120) % 3
links = (torch.rand(120, 120) < torch.where(labels[:, None] == labels, 0.08, 0.02)).float() + torch.eye(120)
links = links / links.sum(1, keepdim=True)
features = torch.randn(3, 10)[labels] + torch.randn(120, 10)
known = torch.rand(120) < 0.6


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.norm, self.outer = nn.Linear(10, 24), nn.BatchNorm1d(24, momentum=1.0), nn.Linear(24, 3)

    def forward(self, x, adjacency):
        return self.outer(adjacency @ torch.relu(self.norm(self.inner(adjacency @ x))))


model = Graph()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    model.train()
    loss = nn.functional.cross_entropy(model(features, links)[known], labels[known])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            print((model(features, links).argmax(1) == labels)[~known].float().mean().item())
