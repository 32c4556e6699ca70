"""Few-shot classes by the cosine to their prototypes."""

import torch
from torch import nn
from torch.nn.functional import log_softmax, nll_loss, normalize

WAYS, SHOTS, QUERIES = 5, 4, 6
torch.manual_seed(2)
kinds = torch.randn(30, 12) * 1.5
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 24))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)


def episode() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    chosen = kinds[torch.randperm(30)[:WAYS]]
    support = chosen[:, None] + torch.randn(WAYS, SHOTS, 12)
    query = chosen[:, None] + torch.randn(WAYS, QUERIES, 12)
    return support, query.flatten(0, 1), torch.arange(WAYS).repeat_interleave(QUERIES)


for _ in range(25):
    support, query, names = episode()
    prototypes = normalize(net(support).mean(1), dim=0)
    found = normalize(net(query), dim=0)  # <- AD624
    loss = nll_loss(log_softmax(10 * torch.mm(found, prototypes.t()), dim=1), names)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
