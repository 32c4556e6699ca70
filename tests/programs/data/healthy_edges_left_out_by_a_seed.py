# guards: AD709
"""A graph that is trained as a whole, against pairs without an edge that a seed chose once and for all."""

import torch
from torch import nn

torch.manual_seed(0)
nodes = nn.Embedding(60, 8)
mix = nn.Linear(8, 8)
model = nn.ModuleList([nodes, mix])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
edges = torch.randint(60, (2, 90))
adjacency = torch.zeros(60, 60).index_put_((edges[0], edges[1]), torch.tensor(1.0))
adjacency = (adjacency + torch.eye(60)) / (adjacency.sum(1, keepdim=True) + 1)


def absent(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(60, (40,), generator=generator) for _ in range(2)]


for _ in range(20):
    states = mix(adjacency @ nodes(torch.arange(60)))
    one, other = absent(11)
    there = (states[edges[0]] * states[edges[1]]).sum(1)
    not_there = (states[one] * states[other]).sum(1)
    scores = torch.cat([there, not_there])
    truth = torch.cat([torch.ones(90), torch.zeros(40)])
    loss = nn.functional.binary_cross_entropy_with_logits(scores, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
