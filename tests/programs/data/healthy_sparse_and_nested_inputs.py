# guards: AD716 AD622
import torch
from torch import nn


class GraphNet(nn.Module):
    def __init__(self, words=5):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 3)
        self.kinds = nn.Parameter(0.1 * torch.randn(words, 16))

    def forward(self, adjacency, features, edges, notes=None):
        kinds = edges.coalesce().values().float().mean() * self.kinds.mean(0)
        hidden = torch.relu(torch.sparse.mm(adjacency, self.first(features)) + kinds)
        if notes is not None:
            hidden = hidden + notes.unbind()[0].mean()
        return torch.sparse.mm(adjacency, self.second(hidden))


torch.manual_seed(0)
nodes = 40
adjacency = (torch.rand(nodes, nodes) < 0.1).float() + torch.eye(nodes)
adjacency = (adjacency / adjacency.sum(1, keepdim=True)).to_sparse()
edges = torch.randint(0, 5, (nodes, nodes)).to_sparse()
features = torch.randn(nodes, 8)
labels = torch.sparse.mm(adjacency, features)[:, :3].argmax(1)
model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    notes = torch.nested.nested_tensor([torch.randn(3, 4), torch.randn(5, 4)]) if step % 2 else None
    loss = nn.functional.cross_entropy(model(adjacency, features, edges, notes), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
