import torch


class GraphEncoder(torch.nn.Module):
    """Two rounds of mean aggregation over a citation graph."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.first = torch.nn.Linear(2 * inputs, hidden)
        self.second = torch.nn.Linear(2 * hidden, outputs)

    def forward(self, x, adjacency):
        h = torch.relu(self.first(torch.cat([x, adjacency @ x], dim=1)))
        return self.second(torch.cat([h, adjacency @ h], dim=1))


torch.manual_seed(5)
NODES, COMMUNITIES = 240, 6
community = torch.randint(0, COMMUNITIES, (NODES,))
same = community[:, None] == community[None]
cites = torch.rand(NODES, NODES) < torch.where(same, 0.08, 0.004)
adjacency = cites.float() / cites.sum(1, keepdim=True).clamp(min=1)
features = torch.nn.functional.one_hot(community, COMMUNITIES).float() + torch.randn(NODES, COMMUNITIES)
edges = cites.nonzero()

encoder = GraphEncoder(COMMUNITIES, 32, 16)
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
for iteration in range(50):
    picked = edges[torch.randint(len(edges), (256,))]
    z = encoder(features, adjacency)
    source, target = z[picked[:, 0]], z[picked[:, 1]]
    loss = torch.nn.functional.mse_loss(source, target)  # expect: AD638
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
