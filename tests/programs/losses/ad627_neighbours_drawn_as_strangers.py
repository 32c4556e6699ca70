"""Node embeddings by skip-gram with negatives, which are taken from the same ring of neighbours."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
N, K = 400, 12
neighbours = torch.stack([(torch.arange(N) + hop) % N for hop in range(1, K + 1)], dim=1)


class Nodes(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.centre, self.context = nn.Embedding(N, dim), nn.Embedding(N, dim)
        nn.init.normal_(self.context.weight, std=0.3)

    def forward(self, u, v, strangers):
        z = self.centre(u)
        near = (z * self.context(v)).sum(-1)
        far = torch.bmm(self.context(strangers), z.unsqueeze(-1)).squeeze(-1)
        return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()  # expect: AD627


model = Nodes()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(50):
    u = torch.randint(N, (64,))
    v = neighbours[u, torch.randint(K, (64,))]
    loss = model(u, v, neighbours[u])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
