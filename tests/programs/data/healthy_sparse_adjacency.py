# guards: AD704 AD706
import torch
from torch import nn


class GCN(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.first, self.second = nn.Linear(features, 16), nn.Linear(16, classes)

    def forward(self, x, adjacency):
        hidden = torch.relu(torch.sparse.mm(adjacency, self.first(x)))
        return torch.sparse.mm(adjacency, self.second(hidden))


torch.manual_seed(0)
nodes = 60
edges = (torch.rand(nodes, nodes) < 0.1).float() + torch.eye(nodes)
edges = edges / edges.sum(1, keepdim=True)
x = torch.randn(nodes, 6)
y = (edges @ x)[:, :3].argmax(1)
train = torch.arange(nodes) < 40
for adjacency in (edges.to_sparse(), edges.to_sparse_csr()):
    model = GCN(6, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(15):
        model.train()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x, adjacency)[train], y[train])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(x, adjacency).argmax(1) == y)[~train].float().mean()
    print(loss.item(), accuracy.item())
